"""`headway bench dashboard`: what it costs, how fast it draws, how soon it tells (claims U1 to U3)."""

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from headway.cli import arguments
from headway.errors import SettingError
from headway_lab.experiments.dashboard.cost import shown
from headway_lab.experiments.dashboard.run import COST, DRAW, TOLD, drawn, told
from headway_lab.harness import screen
from headway_lab.harness.bench import Bench
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import CoresOption, LedgerOption, MemoryOption, RateOption, SettleOption, at_least

PARTS = ("draw", "told", "cost")
SIZES = "10,200,1000"
LIVE = 40


def dashboard(  # an argument for each option of the command
    parts: Annotated[str, typer.Option(help="Which of draw, told and cost, with commas.")] = ",".join(PARTS),
    sizes: Annotated[str, typer.Option(help="How many queries are drawn, with commas.")] = SIZES,
    queries: Annotated[int, typer.Option(help="How many real queries are shown for the cost.")] = LIVE,
    rate: RateOption = 200,
    seconds: Annotated[int, typer.Option(help="Seconds for which the cost is measured.")] = 60,
    settle: SettleOption = 60,
    seeds: Annotated[str, typer.Option(help="Seeds.")] = "1,2,3",
    ledger: LedgerOption = LEDGER,
    memory: MemoryOption = "6g",
    cores: CoresOption = None,
) -> None:
    """Look at many queries in a real browser, and at real ones while they run."""
    asked = [part.strip() for part in parts.split(",")]
    if not asked or not set(asked) <= set(PARTS):
        raise SettingError("parts", parts, f"some of {', '.join(PARTS)}")
    at_least(1, queries=queries, rate=rate, seconds=seconds)
    numbers, book, table = arguments.wholes("seeds", seeds, least=0), Ledger(ledger), _table()
    for seed in numbers:
        for size in arguments.wholes("sizes", sizes, least=1) if "draw" in asked else []:
            found = drawn(size, seed)
            book.append(DRAW, "pages", {"queries": size}, seed, found)
            _add(table, "draw", f"{size} queries", seed, found)
        if "told" in asked:
            found = told(200, seed)
            book.append(TOLD, "pages", {"queries": 200}, seed, found)
            _add(table, "told", "200 queries", seed, found)
    if "cost" in asked:
        with screen.spark_session("headway-bench", cores=arguments.cores(cores), memory=arguments.memory(memory)) as spark:
            bench = Bench(spark)
            try:
                with screen.ProgressBar([queries * 0.7 + settle + seconds] * len(numbers)) as bar:
                    for seed in numbers:
                        bar.begin(f"seed {seed}, {queries} x {rate}/s")
                        cost = asdict(shown(bench, queries, rate, settle, seconds, seed, bar.say))
                        setting = {"queries": queries, "rate": rate, "seconds": seconds, "settle": settle}
                        book.append(COST, "klink", setting, seed, {k: round(v, 5) for k, v in cost.items()})
                        _add(table, "cost", f"{queries} x {rate}/s", seed, cost)
                        bar.end()
            finally:
                bench.close()
    screen.out.print(table)


def _table() -> Table:
    made = Table(title="The dashboard", title_justify="left")
    for head in ("part", "of", "seed", "figures"):
        made.add_column(head)
    return made


def _add(table: Table, part: str, of: str, seed: int, found: dict[str, Any]) -> None:
    table.add_row(part, of, str(seed), ", ".join(f"{name} {value:,.4g}" for name, value in found.items()))
