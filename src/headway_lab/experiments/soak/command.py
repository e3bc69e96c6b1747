"""`headway bench soak`: queries fed from Kafka for many minutes; nothing may grow."""

from dataclasses import replace
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from headway.cli import arguments
from headway.sim import delays
from headway_lab.experiments.soak.run import EXPERIMENT, backlog_growth, heap_growth
from headway_lab.experiments.soak.run import soak as run_long
from headway_lab.harness import screen
from headway_lab.harness.bench import Bench, Run
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import (
    CoresOption,
    DelayOption,
    LedgerOption,
    MemoryOption,
    RateOption,
    SeedOption,
    WarmOption,
)
from headway_lab.harness.setting import Setting
from headway_lab.harness.suite import measures, warm
from headway_lab.harness.tasks import SPARE_MS


def soak(  # an argument for each option of the command
    queries: Annotated[int, typer.Option(help="Number of queries, each with a topic of its own.")] = 10,
    rate: RateOption = 2_000,
    minutes: Annotated[int, typer.Option(help="How long.")] = 10,
    delay: DelayOption = "uniform:0:500",
    seed: SeedOption = 1,
    warm_s: WarmOption = 120,
    ledger: LedgerOption = LEDGER,
    memory: MemoryOption = "6g",
    cores: CoresOption = None,
) -> None:
    """Run Klink on the Yahoo workload through Kafka, minute after minute over the same queries."""
    for key, value, least in (("queries", queries, 1), ("rate", rate, 1), ("minutes", minutes, 3)):
        arguments.at_least(key, value, least)
    arguments.at_least("warm", warm_s, 0)
    setting = Setting(queries, rate, delay, delays.parse(delay).max_ms + SPARE_MS, workload="ads")
    given_cores, given_memory = arguments.cores(cores), arguments.memory(memory)
    with screen.spark_session("headway-soak", cores=given_cores, memory=given_memory, kafka=True) as spark:
        bench = Bench(spark, keeps=False)
        try:
            screen.warm_up(lambda say, told: warm(bench, warm_s, say, told, replace(setting, seconds=40, settle=2)), warm_s)
            with screen.ProgressBar([60.0 * minutes + queries]) as bar:
                bar.begin(setting.label)
                runs = run_long(bench, setting, minutes, seed, bar.say)
        finally:
            bench.close()
    told = {"queries": queries, "rate": rate, "delay": delay, "minutes": minutes}
    figures = _figures(runs, setting)
    Ledger(ledger).append(EXPERIMENT, "klink", told, seed, figures)
    screen.out.print(_table(runs))
    screen.out.print(
        f"backlog grew by {figures['backlog_rows']:,} rows, {figures['backlog_windows']:.2f} of what a window holds;"
        f" heap in use, last third of the run over the one before: {figures['heap_growth']:.2f};"
        f" {figures['late_rows']} late rows, {figures['wrong']} wrong counts",
        highlight=False,
    )


def _figures(runs: list[Run], setting: Setting) -> dict[str, object]:
    grown = backlog_growth(runs)
    # What one window holds is always on its way.
    window_rows = setting.queries * setting.rate * (setting.window_ms + setting.patience_ms) / 1000
    return {
        "backlog_rows": grown,
        "backlog_windows": round(grown / window_rows, 3),
        "heap_growth": round(heap_growth(runs), 3),
        "late_rows": max(run.late_rows for run in runs),
        "wrong": max(run.wrong for run in runs),
        "series": {
            key: [measures(run)[key] for run in runs]
            for key in ("mean_ms", "p99_ms", "rows", "backlog", "heap_mb", "cpu_ms")
        },
    }


def _table(runs: list[Run]) -> Table:
    made = Table(box=box.SIMPLE_HEAD)
    for head in ("minute", "mean ms", "p99 ms", "rows/s", "unread rows", "heap MB", "cores"):
        made.add_column(head, justify="right")
    for number, run in enumerate(runs, start=1):
        m = measures(run)
        cells = (f"{m['mean_ms']:,.0f}", f"{m['p99_ms']:,.0f}", f"{run.rows / run.seconds:,.0f}", f"{run.backlog:,}")
        made.add_row(str(number), *cells, f"{run.heap_mb:,.0f}", f"{run.cpu_ms / run.seconds / 1000:.2f}")
    return made
