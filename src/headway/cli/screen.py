"""What commands share on the screen: consoles, a progress bar that knows the time left, and a Spark session around work."""

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from headway.bench.experiment import Say
from headway.bench.ledger import Record
from headway.bench.report import spread_words
from headway.bench.suite import LATENCIES, Pace, summary
from headway.errors import HeadwayError
from headway.loop.journal_file import state_folder

WIDE = 180  # into a file or a pipe, tables need not fold
out = Console(width=None if sys.stdout.isatty() else WIDE)
err = Console(stderr=True)


class Bar:
    """A bar over steps of unequal length, with what is going on and how long all of it will still take.

    It writes to stderr, and where that is no terminal, one line per step.
    """

    def __init__(self, expected_s: Sequence[float]) -> None:
        self._pace = Pace(list(expected_s))
        self._since = monotonic()
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), TextColumn("{task.fields[left]}"))
        self._progress = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
        self._task = self._progress.add_task("", total=1.0, left="")
        self._step = ""

    def __enter__(self) -> "Bar":
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()

    def begin(self, step: str) -> None:
        self._step, self._since = step, monotonic()
        if not err.is_terminal:
            err.print(f"{step} ({_minutes(self._pace.left(0))} left)", highlight=False)
        self.say("", 0.0)

    def end(self) -> None:
        self._pace.step(monotonic() - self._since)

    def say(self, what: str, left_s: float) -> None:
        """For `Bench`: what is going on, and for how many more seconds."""
        left = self._pace.left(monotonic() - self._since)
        now = f"{self._step}: {what}" if what else self._step
        share = 1 - left / max(self._pace.total, 1e-9)
        self._progress.update(
            self._task,
            description=f"{now} {left_s:.0f} s" if left_s >= 1 else now,
            completed=share,
            left=f"{_minutes(left)} left",
        )


def warm_up(warm: Callable[[Say, Callable[[float], None]], object], limit_s: float) -> None:
    """Warm a JVM, telling how it goes."""
    if limit_s:
        with Bar([limit_s]) as bar:
            bar.begin("warming up until CPU per batch is flat")
            warm(bar.say, lambda ms: err.print(f"CPU per batch: {ms:.0f} ms", highlight=False))


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


@contextmanager
def spark_session(name: str, *, cores: int, memory: str, **conf: Any) -> Iterator[Any]:
    """A Spark session that ends with the work. What its JVM says goes into a log, kept if something goes wrong."""
    import headway as hw

    log = state_folder() / f"spark-{os.getpid()}.log"
    err.print(f"starting Spark (what it says itself: {log})", highlight=False, soft_wrap=True)
    logging.getLogger("SQLQueryContextLogger").disabled = True  # errors as JSON on stderr; ours are one line
    try:
        with _stderr_into(log):
            spark = hw.session(name, cores=cores, memory=memory, **conf)
    except HeadwayError:
        raise
    except Exception as error:
        raise HeadwayError(f"Spark did not start, {log} says why: {str(error).partition(chr(10))[0]}") from None
    # Spark's own handler of Ctrl-C breaks off running batches; we would rather let them finish and stop between two.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield spark
        log.unlink(missing_ok=True)
    except KeyboardInterrupt:
        log.unlink(missing_ok=True)
        raise
    finally:
        spark.stop()


@contextmanager
def _stderr_into(log: Path) -> Iterator[None]:
    """A process started in here has the log for its stderr, and keeps it: warnings would tear our tables."""
    log.parent.mkdir(parents=True, exist_ok=True)
    ours = os.dup(2)
    with log.open("w") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)


def latency_table(title: str, by_policy: dict[str, list[Record]], spread: bool = True) -> Table:
    """One row per policy, with the figures that the report shows too; without spreads it fits 80 columns."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0 if not spread else (0, 1))
    heads = ("mean ms", "p50", "p90", "p99", "windows", "batches", "late", "wrong", "rows/s", "cores")
    table.add_column("policy", no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for policy, records in sorted(by_policy.items(), key=lambda item: item[0].startswith("klink")):
        s = summary(policy, records)
        cells = [spread_words(s.latency[name]) if spread else f"{s.latency[name].middle:,.0f}" for name in LATENCIES]
        cells += [f"{n:,}" for n in (s.windows, s.batches, s.late_rows, s.wrong)]
        style = "bold" if policy.startswith("klink") else None
        table.add_row(policy, *cells, f"{s.rows_per_s:,.0f}", f"{s.cores:.2f}", style=style)
    return table
