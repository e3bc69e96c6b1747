"""`headway bench cost`: where a micro-batch's time goes, for stock Spark, tuned stock and Headway (claim C1)."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway.errors import HeadwayError
from headway_lab.commands.claims import LEDGER
from headway_lab.experiments.cost import run as costs
from headway_lab.harness import screen
from headway_lab.harness.ledger import Ledger, Record, newest, origin
from headway_lab.harness.measuring import measured
from headway_lab.harness.report import figures_page
from headway_lab.harness.setting import Setting, policies_named
from headway_lab.harness.suite import base_setting, plan, settings

TITLES = {"cpu_parts": "Processor time per batch, ms", "wall_parts": "Wall time of a batch, ms"}


def cost(
    policies: Annotated[str, typer.Option(help="Policies, with commas between them.")] = ",".join(costs.POLICIES),
    queries: Annotated[int, typer.Option(help="Number of queries.")] = 40,
    rate: Annotated[int, typer.Option(help="Events per second and query.")] = 200,
    seconds: Annotated[int, typer.Option(help="Measured seconds per policy.")] = 30,
    settle: Annotated[int, typer.Option(help="Seconds before that, not measured.")] = 10,
    seeds: Annotated[str, typer.Option(help="Seeds; for each one, all policies take their turn.")] = "1,2,3",
    warm_s: Annotated[float, typer.Option("--warm", help="At most so many seconds of warm-up.")] = 360,
    out: Annotated[Path, typer.Option(help="The page with the plots.")] = Path("headway-cost.html"),
    ledger: Annotated[Path, typer.Option(help="The file that results are appended to.")] = LEDGER,
    memory: Annotated[str, typer.Option(help="Memory of the driver.")] = "6g",
    cores: Annotated[int | None, typer.Option(help="Cores for Spark; all of them unless told.")] = None,
) -> None:
    """Measure what a batch costs and where it goes, in one warm JVM."""
    for key, value in (("queries", queries), ("rate", rate), ("seconds", seconds)):
        arguments.at_least(key, value, 1)
    for key, number in (("settle", settle), ("warm", warm_s)):
        arguments.at_least(key, number, 0)
    arguments.new_file("out", out)
    cases = settings([queries], [rate], base_setting(Setting.delay, None, seconds, settle))
    names, numbers, book = policies_named(policies), arguments.wholes("seeds", seeds, least=0), Ledger(ledger)
    segments = plan(names, cases, numbers, book.done(), origin()["commit"], costs.EXPERIMENT)
    measured(
        segments, book, warm_s, cores=arguments.cores(cores), memory=arguments.memory(memory), experiment=costs.EXPERIMENT
    )
    records = [
        r
        for r in newest(book.records())
        if r["experiment"] == costs.EXPERIMENT and r["commit"] == origin()["commit"] and r["setting"] == asdict(cases[0])
    ]
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
