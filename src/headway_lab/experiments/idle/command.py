"""`headway bench idle`: what queries cost that have nothing to do (claim C4)."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway_lab.experiments.idle.run import EXPERIMENT, IdleCost
from headway_lab.experiments.idle.run import idle as watch
from headway_lab.harness import screen
from headway_lab.harness.bench import Bench
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import CoresOption, LedgerOption, MemoryOption, QueriesOption, SettleOption, at_least


def idle(
    queries: QueriesOption = 40,
    seconds: Annotated[int, typer.Option(help="Measured seconds.")] = 60,
    settle: SettleOption = 60,
    times: Annotated[int, typer.Option(help="How often to measure.")] = 3,
    ledger: LedgerOption = LEDGER,
    memory: MemoryOption = "6g",
    cores: CoresOption = None,
) -> None:
    """Start queries on streams without rows, and watch them wait."""
    at_least(1, queries=queries, seconds=seconds, times=times)
    arguments.at_least("settle", settle, 0)
    book, found = Ledger(ledger), []
    with screen.spark_session("headway-bench", cores=arguments.cores(cores), memory=arguments.memory(memory)) as spark:
        bench = Bench(spark)
        try:
            with screen.ProgressBar([queries * 0.7 + settle + seconds] * times) as bar:
                for turn in range(1, times + 1):
                    bar.begin(f"{turn}/{times}")
                    found.append(watch(bench, queries, settle, seconds, bar.say))
                    setting = {"queries": queries, "seconds": seconds, "settle": settle}
                    figures = {name: round(value, 4) for name, value in asdict(found[-1]).items() if name != "queries"}
                    book.append(EXPERIMENT, "klink", setting, turn, figures)
                    bar.end()
        finally:
            bench.close()
    screen.out.print(table(found))


def table(found: list[IdleCost]) -> Table:
    made = Table(title=f"{found[0].queries} queries without a row", title_justify="left")
    for head in ("busy, share of a core", "channel, MB a query", "driver's heap, MB a query", "start, s a query"):
        made.add_column(head, justify="right")
    for one in found:
        made.add_row(f"{one.cores:.1%}", f"{one.channel_mb:.2f}", f"{one.driver_mb:.2f}", f"{one.start_s:.2f}")
    return made
