"""`headway bench dashboard`: what it costs, how fast it draws, how soon it tells (claims U1 to U4)."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from headway.cli import arguments
from headway.errors import SettingError
from headway_lab.experiments.dashboard.cost import shown
from headway_lab.experiments.dashboard.deaths import DEATHS, deaths
from headway_lab.experiments.dashboard.run import COST, DIED, DRAW, TOLD, drawn, told
from headway_lab.harness import screen
from headway_lab.harness.bench import Bench
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import CoresOption, LedgerOption, MemoryOption, RateOption, SettleOption, at_least

PARTS = ("draw", "told", "cost", "deaths")
SIZES = "10,200,1000"
LIVE = 40
LIVE_PARTS = ("cost", "deaths")  # on real Spark


def dashboard(  # an argument for each option of the command
    parts: Annotated[str, typer.Option(help="Which of draw, told, cost and deaths, with commas.")] = ",".join(PARTS),
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
    """Look at many queries in a real browser, and at real ones while they run and die."""
    asked = [part.strip() for part in parts.split(",")]
    if not asked or not set(asked) <= set(PARTS):
        raise SettingError("parts", parts, f"some of {', '.join(PARTS)}")
    at_least(1, queries=queries, rate=rate, seconds=seconds)
    numbers, book, table = arguments.wholes("seeds", seeds, least=0), Ledger(ledger), _table()

    def keep(experiment: str, candidate: str, setting: dict[str, Any], seed: int, found: dict[str, Any]) -> None:
        book.append(experiment, candidate, setting, seed, {k: round(v, 5) for k, v in found.items()})
        _add(table, experiment.removeprefix("dashboard-"), f"{setting['queries']} queries", seed, found)

    for seed in numbers:
        for size in arguments.wholes("sizes", sizes, least=1) if "draw" in asked else []:
            keep(DRAW, "pages", {"queries": size}, seed, drawn(size, seed))
        if "told" in asked:
            keep(TOLD, "pages", {"queries": 200}, seed, told(200, seed))
    setting = {"queries": queries, "rate": rate, "seconds": seconds, "settle": settle}
    if live := [part for part in LIVE_PARTS if part in asked]:
        with screen.spark_session("headway-bench", cores=arguments.cores(cores), memory=arguments.memory(memory)) as spark:
            bench = Bench(spark)
            try:
                for part in live:
                    _live(bench, part, setting, numbers, keep)
            finally:
                bench.close()
    screen.out.print(table)


def _live(bench: Bench, part: str, setting: dict[str, Any], seeds: list[int], keep: Callable[..., None]) -> None:
    """A part on real Spark, seed by seed."""
    of, rate, settle, seconds = (setting[key] for key in ("queries", "rate", "settle", "seconds"))
    one_s = DEATHS * 3.0 if part == "deaths" else of * 0.7 + settle + 2 * seconds
    with screen.ProgressBar([one_s] * len(seeds)) as bar:
        for seed in seeds:
            bar.begin(f"seed {seed}, {part}")
            if part == "deaths":
                keep(DIED, "klink", {"queries": DEATHS}, seed, deaths(bench, seed, bar.say))
            else:
                keep(COST, "klink", setting, seed, asdict(shown(bench, of, rate, settle, seconds, seed, bar.say)))
            bar.end()


def _table() -> Table:
    made = Table(title="The dashboard", title_justify="left")
    for head in ("part", "of", "seed", "figures"):
        made.add_column(head)
    return made


def _add(table: Table, part: str, of: str, seed: int, found: dict[str, Any]) -> None:
    table.add_row(part, of, str(seed), ", ".join(f"{name} {value:,.4g}" for name, value in found.items()))
