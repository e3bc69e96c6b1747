"""`headway bench cost`: where a micro-batch's time goes, for stock Spark, tuned stock and Headway (claim C1)."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway.errors import HeadwayError
from headway_lab.experiments.cost import run as costs
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger, Record, origin
from headway_lab.harness.measuring import BenchSession, measured
from headway_lab.harness.options import (
    CoresOption,
    LedgerOption,
    MemoryOption,
    PoliciesOption,
    QueriesOption,
    RateOption,
    SecondsOption,
    SeedsInTurnOption,
    SettleOption,
    WarmOption,
    at_least,
)
from headway_lab.harness.report import figures_page
from headway_lab.harness.setting import Setting, policies_named
from headway_lab.harness.suite import base_setting, plan, settings

ALL_POLICIES = ",".join(costs.POLICIES)
TITLES = {"cpu_parts": "Processor time per batch, ms", "wall_parts": "Wall time of a batch, ms"}


def cost(  # an argument for each option of the command
    policies: PoliciesOption = ALL_POLICIES,
    queries: QueriesOption = 40,
    rate: RateOption = 200,
    seconds: SecondsOption = 30,
    settle: SettleOption = 10,
    seeds: SeedsInTurnOption = "1,2,3",
    warm_s: WarmOption = 360,
    out: Annotated[Path, typer.Option(help="The page with the plots.")] = Path("headway-cost.html"),
    ledger: LedgerOption = LEDGER,
    memory: MemoryOption = "6g",
    cores: CoresOption = None,
) -> None:
    """Measure what a batch costs and where it goes, in one warm JVM."""
    at_least(1, queries=queries, rate=rate, seconds=seconds)
    at_least(0, settle=settle, warm=warm_s)
    arguments.new_file("out", out)
    cases = settings([queries], [rate], base_setting(Setting.delay, None, seconds, settle))
    names, numbers, book = policies_named(policies), arguments.wholes("seeds", seeds, least=0), Ledger(ledger)
    segments = plan(names, cases, numbers, book.done(), origin()["commit"], costs.EXPERIMENT)
    measured(segments, book, warm_s, BenchSession.of(cores, memory), costs.EXPERIMENT)
    records = book.of_this_commit(costs.EXPERIMENT, map(asdict, cases[:1]))
    if not records:
        raise HeadwayError("nothing was measured")
    for field in TITLES:
        screen.out.print(table(records, field))
    figures = [(TITLES[f], "Medians over seeds.", costs.figure(records, f)) for f in TITLES]
    out.write_text(figures_page("What a micro-batch costs", figures), "utf-8")
    screen.out.print(f"Plots: {out}", soft_wrap=True)


def table(records: list[Record], field: str) -> Table:
    """One row per part, one column per policy."""
    made = Table(title=f"{TITLES[field]}: median of seeds", title_justify="left")
    rows = costs.table(records, field)
    for head in ("part", *rows[-1][1], "what it is"):
        made.add_column(head, justify="left" if head in ("part", "what it is") else "right")
    for part, row in rows:
        made.add_row(part, *(f"{ms:,.1f}" for ms in row.values()), costs.MEANING[field].get(part, ""))
    return made
