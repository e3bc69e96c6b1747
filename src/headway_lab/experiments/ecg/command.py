"""`headway bench ecg`: how many of the beats that cardiologists marked are found, and how many others."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from headway.cli import arguments
from headway_lab.experiments.ecg import figures as ecg_figures
from headway_lab.experiments.ecg.run import (
    ALL,
    CLEAN,
    DETECTOR,
    EXPERIMENT,
    ON_SPARK,
    RecordOutcome,
    different,
    expected,
    figures,
    groups,
    outcome,
    streamed,
)
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import CoresOption, LedgerOption, MemoryOption
from headway_lab.harness.report import figures_page
from headway_lab.workloads.bio.ecg import EcgRecord, records

EACH_S = 2.0  # a record of half an hour
STARTS_S = 20.0  # Spark and the query
PACKET = 360  # samples: a second


def ecg(  # an argument for each option of the command
    only: Annotated[str, typer.Option("--records", help="Records, with commas between them; all unless told.")] = "",
    seeds: Annotated[str, typer.Option(help="Seeds: each cuts the records in another way.")] = "1,2,3",
    spark: Annotated[bool, typer.Option("--spark", help="As a streaming query too, beat by beat the same?")] = False,
    speed: Annotated[float, typer.Option(help="There: how many times as fast as recorded.")] = 60.0,
    show: Annotated[str, typer.Option(help="The record that is drawn.")] = "200",
    at: Annotated[float, typer.Option(help="From which second on.")] = 60.0,
    out: Annotated[Path, typer.Option(help="The page with the figures.")] = Path("headway-ecg.html"),
    picture: Annotated[Path | None, typer.Option(help="The drawn record as a PNG too.")] = None,
    ledger: LedgerOption = LEDGER,
    memory: MemoryOption = "4g",
    cores: CoresOption = None,
) -> None:
    """Find the beats of the MIT-BIH records by Pan and Tompkins' method, and compare them with the marks."""
    arguments.new_file("out", out)
    numbers, book = arguments.wholes("seeds", seeds, least=0), Ledger(ledger)
    arguments.at_least("speed", speed, 1)
    chosen = records([name.strip() for name in only.split(",")] if only else None)
    drawn = next(iter(records([show])))
    found: list[RecordOutcome] = []
    with screen.ProgressBar([EACH_S] * len(numbers) * len(chosen)) as bar:
        for seed in numbers:
            found = []
            for record in chosen:
                bar.begin(f"seed {seed}, record {record.name}")
                found.append(outcome(record, seed))
                bar.end()
            for name, of in groups(found):
                if name not in (CLEAN, ALL) or not only:
                    book.append(EXPERIMENT, DETECTOR, {"records": name}, seed, figures(of), kind="no-spark")
    screen.out.print(table(found))
    shown = ecg_figures.stretch(drawn, at, 8.0)
    out.write_text(figures_page("QRS complexes", ecg_figures.ecg(found, shown)), "utf-8")
    screen.out.print(f"Figures: {out}", soft_wrap=True)
    if picture is not None:
        ecg_figures.picture(shown, arguments.new_file("picture", picture))
    if spark:
        with screen.spark_session("headway-ecg", cores=arguments.cores(cores), memory=arguments.memory(memory)) as session:
            for seed in numbers:
                _on_spark(session, chosen, seed, speed, book if not only else None)


def _on_spark(session: object, chosen: Sequence[EcgRecord], seed: int, speed: float, book: Ledger | None) -> None:
    lasts_s = max(len(record.samples) / record.fs for record in chosen) / speed
    with (
        tempfile.TemporaryDirectory(prefix="headway-ecg-", ignore_cleanup_errors=True) as folder,
        screen.ProgressBar([STARTS_S + lasts_s]) as bar,
    ):
        bar.begin(f"seed {seed}, {len(chosen)} records on Spark")
        told = streamed(session, chosen, Path(folder), speed, PACKET, lambda n, of: bar.say(f"{n:,} of {of:,} beats", 0.0))
    wanted = expected(chosen)
    other = different(told, wanted)
    if book is not None:
        setting = {"records": ALL, "speed": speed, "packet": PACKET}
        book.append(EXPERIMENT, ON_SPARK, setting, seed, {"beats": len(told), "expected": len(wanted), "different": other})
    screen.out.print(f"On Spark, seed {seed}: {len(told):,} beats, {other:,} otherwise than without it", highlight=False)


def table(found: Sequence[RecordOutcome]) -> Table:
    """One row per record; then the clean ones together, and all."""
    made = Table(box=box.SIMPLE_HEAD, title="Beats within 150 ms of a mark", title_justify="left")
    heads = ("record", "lead", "beats", "missed", "false", "second look", "Se %", "+P %", "Se % after 5 min", "+P %")
    for head in heads:
        made.add_column(head, justify="left" if head in ("record", "lead") else "right")
    for name, of in groups(found):
        told = figures(of)
        one = len(of) == 1 and name == of[0].name
        label = name if not one or of[0].clean else f"{name} (difficult)"
        counts = [f"{told[key]:,}" for key in ("beats", "missed", "false", "searched")]
        keys = ("sensitivity", "positive_predictivity", "later_sensitivity", "later_positive_predictivity")
        shares = [f"{100 * told[key]:.2f}" for key in keys]
        made.add_row(label, of[0].lead if one else "", *counts, *shares, style=None if one else "bold")
    return made
