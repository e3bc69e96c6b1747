"""`headway advise`: what could be better about a job that has run, from what Spark has written down about it."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from headway.advice.history import PlanFacts
from headway.advice.logs import files_of, lines_of
from headway.advice.reading import JobReader, read
from headway.advice.report import Advice
from headway.cli import arguments, screen
from headway.errors import HeadwayError, SettingError
from headway.model.deadline import Deadlines, window
from headway.model.time import duration_ms


def advise(
    file: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Spark event logs, their folders, or progress reports as lines of JSON."),
    ],
    windows: Annotated[
        list[str] | None,
        typer.Option("--window", help="QUERY=SIZE or QUERY=SIZE/SLIDE, or without a name for all: what logs do not tell."),
    ] = None,
    delay: Annotated[list[str] | None, typer.Option(help="QUERY=DELAY of its watermark, or without a name for all.")] = None,
    cores: Annotated[int | None, typer.Option(help="Cores that the job had; event logs tell.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write a page there, too.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A list of objects instead of text.")] = False,
) -> None:
    """Look at what Spark wrote down of a job: which windows come late, what is wasted, what grows, and what to change.

    Nothing is started and nothing is changed.
    """
    if out is not None:
        arguments.new_file("out", out)
    if cores is not None:
        arguments.at_least("cores", cores, 1)
    paths = [part for path in file for part in files_of(path)]
    reader = JobReader()
    with Progress(console=screen.err, transient=True, disable=not screen.err.is_terminal) as progress:
        task = progress.add_task("reading", total=len(paths))

        def lines() -> Iterator[str]:
            for path in paths:
                yield from lines_of(path)
                progress.advance(task)

        read(lines(), reader)
    reader.cores = cores or reader.cores
    _told(reader, windows or (), delay or ())
    advice = Advice.on(reader.history())
    if as_json:
        typer.echo(json.dumps([asdict(item) for item in advice.items], indent=2))
    else:
        screen.out.print(advice.text(), markup=False, highlight=False, soft_wrap=True)
    if out is not None:
        out.write_text(advice.page(), "utf-8")
        screen.err.print(f"Page: {out}", soft_wrap=True)


def _told(reader: JobReader, windows: list[str] | tuple[str, ...], delays: list[str] | tuple[str, ...]) -> None:
    """What the user adds to what logs tell."""
    for text in windows:
        name, shape = _named(text)
        sizes = shape.split("/")
        if len(sizes) > 2:
            raise SettingError("window", text, "QUERY=SIZE or QUERY=SIZE/SLIDE, such as clicks='10 seconds/5 seconds'")
        deadlines = Deadlines((window(sizes[0], sizes[1] if len(sizes) > 1 else None),))
        for query in _meant(reader, name):
            reader.plans[query] = replace(reader.plans.get(query, PlanFacts()), deadlines=deadlines)
    for text in delays:
        name, delay = _named(text)
        for query in _meant(reader, name):
            reader.plans[query] = replace(reader.plans.get(query, PlanFacts()), delay_ms=duration_ms("delay", delay))


def _named(text: str) -> tuple[str | None, str]:
    name, by, value = text.rpartition("=")
    return (name if by else None), value


def _meant(reader: JobReader, name: str | None) -> list[str]:
    there = [query.name for query in reader.history().queries]
    if name is not None and name not in there:
        raise HeadwayError(f"no query {name!r} in there: it has {', '.join(there) or 'none'}")
    return there if name is None else [name]
