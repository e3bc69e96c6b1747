"""`headway bench fleet-cost`: what an orchestrator costs that has so many nodes (claim R8)."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway.policy.load import policy_of
from headway_lab.experiments.fleet_cost.run import CostCase, measure
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger, Record
from headway_lab.harness.options import LedgerOption, at_least

EXPERIMENT = "fleet-cost"
BEGIN_S = 25.0


def fleet_cost(  # an argument for each option of the command
    nodes: Annotated[str, typer.Option(help="How many nodes; several with commas.")] = "100,1000",
    queries: Annotated[int, typer.Option(help="Queries on each.")] = CostCase.queries,
    seconds: Annotated[int, typer.Option(help="Measured seconds.")] = CostCase.seconds,
    settle: Annotated[int, typer.Option(help="Seconds before that, not measured.")] = CostCase.settle,
    policy: Annotated[str, typer.Option(help="prediction-rings, least-loaded, never-move ...")] = "prediction-rings",
    seeds: Annotated[str, typer.Option(help="How often: a number for each time.")] = "1",
    ledger: LedgerOption = LEDGER,
) -> None:
    """Start a real orchestrator with ZooKeeper and nodes that have no Spark, and count its processor time."""
    at_least(1, queries=queries, seconds=seconds)
    at_least(0, settle=settle)
    policy_of("placement", policy)
    numbers, book = arguments.wholes("seeds", seeds, least=0), Ledger(ledger)
    cases = [CostCase(count, queries, settle, seconds) for count in arguments.wholes("nodes", nodes, least=1)]
    records = []
    with screen.ProgressBar([BEGIN_S + settle + seconds] * len(cases) * len(numbers)) as bar:
        for seed in numbers:
            for case in cases:
                bar.begin(f"seed {seed}, {case.nodes:,} nodes")
                found = measure(case, policy, bar.say)
                records.append(book.append(EXPERIMENT, policy, asdict(case), seed, found, kind="no-spark"))
                bar.end()
    screen.out.print(_table(records))


def _table(records: list[Record]) -> Table:
    made = Table(title="Processor time of one orchestrator", title_justify="left")
    for head in ("nodes", "queries", "asked every", "of one core", "ms a node and second", "MB"):
        made.add_column(head, justify="right")
    for r in records:
        case = r["setting"]
        cells = (f"{r['period_s']:g} s", f"{r['core_share']:.1%}", f"{r['ms_per_node_second']:.3f}", f"{r['memory_mb']:.0f}")
        made.add_row(f"{case['nodes']:,}", f"{case['nodes'] * case['queries']:,}", *cells)
    return made
