"""`headway bench hour`: many queries in a small driver, for a long time; nothing may grow (claim X3)."""

from typing import Annotated

import typer
from rich import box
from rich.table import Table

from headway.cli import arguments
from headway_lab.experiments.hour.run import EXPERIMENT, MinuteCounts, growth, series
from headway_lab.experiments.hour.run import hour as run_long
from headway_lab.harness import screen
from headway_lab.harness.bench import Bench
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import CoresOption, LedgerOption, MemoryOption, QueriesOption, RateOption


def hour(
    queries: QueriesOption = 40,
    rate: RateOption = 50,
    window: Annotated[int, typer.Option(help="Length of a window, in milliseconds.")] = 3_000,
    minutes: Annotated[int, typer.Option(help="How long.")] = 60,
    ledger: LedgerOption = LEDGER,
    memory: MemoryOption = "2g",
    cores: CoresOption = None,
) -> None:
    """Run the Yahoo workload under Klink, and count every minute what a leak would make grow."""
    for key, value, least in (("queries", queries, 1), ("rate", rate, 1), ("window", window, 100), ("minutes", minutes, 3)):
        arguments.at_least(key, value, least)
    with screen.spark_session("headway-hour", cores=arguments.cores(cores), memory=arguments.memory(memory)) as spark:
        bench = Bench(spark, keeps=False)
        try:
            with screen.ProgressBar([60.0 * minutes + queries]) as bar:
                bar.begin(f"{queries} queries")
                found = run_long(bench, queries, rate, window, minutes, bar.say)
        finally:
            bench.close()
    grown = growth(found)
    setting = {"queries": queries, "rate": rate, "window_ms": window, "minutes": minutes, "memory": memory}
    figures = {f"{name}_growth": round(value, 4) for name, value in grown.items()} | {"series": series(found)}
    Ledger(ledger).append(EXPERIMENT, "klink", setting, 1, figures)
    screen.out.print(_table(found))
    told = ", ".join(f"{name} {value:.3f}" for name, value in grown.items())
    screen.out.print(f"last third of the run over the one before: {told}", highlight=False)


def _table(found: list[MinuteCounts]) -> Table:
    made = Table(box=box.SIMPLE_HEAD)
    for head in ("minute", "heap MB", "threads", "open files", "journal MB", "Python MB", "batches"):
        made.add_column(head, justify="right")
    step = max(1, len(found) // 12)
    for number, m in enumerate(found, start=1):
        if number % step == 0 or number in (1, len(found)):
            sizes = (f"{m.heap_mb:,.0f}", f"{m.threads:.0f}", f"{m.open_files:.0f}", f"{m.journal_mb:.1f}")
            made.add_row(str(number), *sizes, f"{m.python_mb:.0f}", f"{m.batches:,.0f}")
    return made
