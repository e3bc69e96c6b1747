"""What experiments share on the screen: a progress bar that knows the time left, a warm-up, a table of latencies."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from time import monotonic
from types import TracebackType
from typing import Any

from rich import box
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from headway.cli import screen
from headway.cli.screen import err, out
from headway_lab.harness.ledger import Record
from headway_lab.harness.report import spread_words
from headway_lab.harness.setting import Say
from headway_lab.harness.suite import LATENCIES, Pace, summary
from headway_lab.jvm import JAR

__all__ = ["ProgressBar", "err", "latency_table", "out", "spark_session", "warm_up"]


def spark_session(name: str, *, cores: int, memory: str, **conf: Any) -> AbstractContextManager[Any]:
    """A session of the product's, with our generators beside."""
    return screen.spark_session(name, cores=cores, memory=memory, jars=[JAR], **conf)


class ProgressBar:
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

    def __enter__(self) -> "ProgressBar":
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
        with ProgressBar([limit_s]) as bar:
            bar.begin("warming up until CPU per batch is flat")
            warm(bar.say, lambda ms: err.print(f"CPU per batch: {ms:.0f} ms", highlight=False))


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


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
