"""`headway run FILE.py`: the queries of a pipeline file, started under one policy and watched."""

import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.live import Live

from headway import pipeline
from headway.cli import arguments, screen
from headway.cli.watch import StatusTable
from headway.errors import HeadwayError, QueryFailed, SettingError
from headway.model.secrets import without_secrets
from headway.policy.load import order_policy


def run(
    file: Annotated[Path, typer.Argument(help="A Python file with functions marked with @headway.query.")],
    order: Annotated[
        str, typer.Option(help="The order policy: klink, klink:interval=paper, round-robin, stock ...")
    ] = "klink",
    slots: Annotated[str, typer.Option(help="How many batches may run at once: a number, or auto.")] = "auto",
    journal: Annotated[Path | None, typer.Option(help="Where to write every decision down.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Stop after so many seconds; else at Ctrl-C.")] = None,
    memory: Annotated[str, typer.Option(help="Memory of the driver.")] = "4g",
    cores: Annotated[int | None, typer.Option(help="Cores for Spark; all of them unless told.")] = None,
    kafka: Annotated[bool, typer.Option("--kafka", help="With Spark's connector to Kafka, fetched if need be.")] = False,
    dashboard: Annotated[
        int | None, typer.Option(help="Show it in a browser, on this port; 0 for any that is free.")
    ] = None,
) -> None:
    """Run a pipeline file's queries under a policy, and watch them."""
    policy, places, wanted = order_policy(order), arguments.slots(slots), arguments.memory(memory)
    if journal is not None:
        arguments.new_file("journal", journal)
    if seconds is not None:
        arguments.at_least("seconds", seconds, 0)
    pipeline.check(file)
    with screen.spark_session(file.stem, cores=arguments.cores(cores), memory=wanted, kafka=kafka) as spark:
        from headway.spark.register import carry
        from headway.spark.runtime import Runtime

        with _user_code(file, "pipeline"):
            queries = pipeline.load(file)
        for module in {query.build.__module__ for query in queries}:
            carry(module)
        with Runtime(spark, policy, slots=places, journal=journal) as rt:
            if dashboard is not None:
                screen.out.print(f"dashboard at {rt.dashboard(dashboard)}", soft_wrap=True, highlight=False)
            for query in queries:
                _start(rt, spark, file, query)
            _watch(StatusTable(rt), seconds)
        if rt.journal_path is not None:
            screen.out.print(
                f"Stopped. Why each batch ran: headway explain QUERY --journal {rt.journal_path}", soft_wrap=True
            )


def _start(rt: Any, spark: Any, file: Path, query: pipeline.Query) -> Any:
    if not screen.err.is_terminal:
        screen.err.print(f"starting {query.name}", highlight=False)
    with _user_code(file, f"query {query.name}"):
        writer = query.build(rt, spark)
        if not hasattr(writer, "queryName"):
            raise SettingError(f"query {query.name}", writer, "a function that returns a DataStreamWriter, not started")
        return rt.start(writer, name=query.name, **query.settings)


@contextmanager
def _user_code(file: Path, what: str) -> Iterator[None]:
    """An error in the user's own file: say in which line."""
    try:
        yield
    except HeadwayError:
        raise
    except Exception as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).resolve() == file.resolve()]
        where = f"{file}, line {lines[-1]}" if lines else str(file)
        raise HeadwayError(f"{what}: {where}: {type(error).__name__}: {first_line(error)}") from None


def _watch(watch: StatusTable, seconds: float | None) -> None:
    end = None if seconds is None else time.monotonic() + seconds
    with Live(watch.table(), console=screen.out, auto_refresh=False) as live:
        while watch.active and not watch.failed and (end is None or time.monotonic() < end):
            time.sleep(0.5)
            watch.look()
            live.update(watch.table(), refresh=True)
    if not screen.out.is_terminal:  # there the table is drawn once, at the end, and its last line left open
        screen.out.print()
    if failed := watch.failed:  # also the last one, and one that failed while the others were started
        raise QueryFailed(f"query {failed.name} failed: {failed.error}")


def first_line(error: BaseException) -> str:
    """Spark's errors bring their whole plan along; the first line says what it is about."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return without_secrets(lines[0]) if lines else "no reason given"
