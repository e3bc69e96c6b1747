"""`headway bench moves`: queries that run are moved between real nodes, again and again; every row must be there, once."""

from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway_lab.experiments.moves.live_figures import figures_of
from headway_lab.experiments.moves.live_load import MoveLoad
from headway_lab.experiments.moves.live_run import EXPERIMENT, SETTLED, MovePlan, move_often, patience_ms
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger, Record
from headway_lab.harness.options import FolderOption, LedgerOption, at_least

UP_S, MOVE_S, UPGRADE_S, STOP_S = 40.0, 6.0, 12.0, 10.0  # what each takes, by experience


def moves(
    moves: Annotated[int, typer.Option(help="How many moves.")] = 100,
    upgrades: Annotated[int, typer.Option(help="So many upgrades, and so many that fail and go home.")] = 0,
    keys: Annotated[int, typer.Option(help="Keys of state of the first query: 300, 50000, 1000000 ...")] = 300,
    provider: Annotated[str, typer.Option(help="rocksdb, rocksdb-changelog or hdfs.")] = "rocksdb",
    queries: Annotated[int, typer.Option(help="How many queries.")] = 3,
    nodes: Annotated[int, typer.Option(help="How many nodes, each a Spark application with one core.")] = 3,
    quiet: Annotated[int, typer.Option(help="Seconds without a move, to compare with; half as many after the moves.")] = 20,
    warm: Annotated[int, typer.Option(help="At most so many seconds before, until windows come no earlier any more.")] = 60,
    memory: Annotated[str, typer.Option(help="Memory of each node's driver.")] = "512m",
    seed: Annotated[int, typer.Option(help="The number of this run: the ledger joins several.")] = 1,
    folder: FolderOption = None,
    ledger: LedgerOption = LEDGER,
) -> None:
    """Move queries under load between real nodes, with a real ZooKeeper, and compare what came out with the truth."""
    at_least(1, queries=queries, keys=keys, quiet=quiet)
    at_least(0, moves=moves, upgrades=upgrades, warm=warm)
    arguments.at_least("nodes", nodes, 2)
    load = MoveLoad(queries, nodes, keys, provider)
    plan = MovePlan(moves, 2 * upgrades, quiet, warm, arguments.memory(memory))
    fill = patience_ms(load) / 1000 + 2 * SETTLED
    steps = [UP_S, fill, warm / 2, quiet, *[MOVE_S] * moves, *[UPGRADE_S] * plan.upgrades, quiet / 2, STOP_S]
    with screen.ProgressBar(steps) as bar:
        bar.begin("starting")

        def step(what: str) -> None:
            bar.end()
            bar.begin(what)

        seen = move_often(load, plan, bar.say, step, folder)
    figures = figures_of(seen)
    setting = {"queries": queries, "nodes": nodes, "keys": keys, "moves": moves, "upgrades": upgrades}
    record = Ledger(ledger).append(EXPERIMENT, provider, setting, seed, figures)
    screen.out.print(table(record))
    for fault in seen.wrong[:20]:
        screen.out.print(fault, style="bold red", soft_wrap=True, highlight=False)
    if seen.wrong:
        raise typer.Exit(1)


def table(record: Record) -> Table:
    """The parts of the time out of service, and what the first batch cost."""
    setting = record["setting"]
    done = f"{record['well']} of {record['moves']} as they should, {record['wrong']} windows or moves wrong"
    made = Table(title=f"{setting['keys']:,} keys in {record['policy']}: {done}", title_justify="left")
    made.add_column("median, ms")
    made.add_column("", justify="right")
    for part, ms in record.get("parts_ms", {}).items():
        made.add_row(part, f"{ms:,.1f}")
    made.add_section()
    rows = {
        "out of service": "out_ms", "99th percentile": "out_p99_ms", "longest": "out_max_ms", "first batch": "first_ms",
        "an ordinary batch": "ordinary_ms", "first over ordinary": "first_ratio",
        "windows while nothing moves": "quiet_ms", "the latest of them": "quiet_worst_ms",
        "with a move later than that, in batches": "later_batches",
        "keys, as seen": "state_rows", "from asked to done": "took_ms",
    }  # fmt: skip
    for said, name in rows.items():
        if name in record:
            made.add_row(
                said, f"{record[name]:,.2f}" if name in ("first_ratio", "later_batches") else f"{record[name]:,.0f}"
            )
    return made
