"""`headway bench relay`: a pipeline in three stages on three nodes, told of each other or each on its own."""

from dataclasses import asdict, replace
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from headway.cli import arguments
from headway_lab.experiments.relay.run import EXPERIMENT, LEAD_S, RelayOutcome, RelayRun, nodes
from headway_lab.experiments.relay.stages import WAYS
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import FolderOption, LedgerOption, MemoryOption, SecondsOption, SettleOption

HEADS = (
    "way", "seed", "windows", "mean ms", "median", "p99", "worst", "late rows", "wrong counts", "told of costs",
    "had to choose", "cores",
)  # fmt: skip


def relay(
    pipelines: Annotated[int, typer.Option(help="Pipelines, each of three stages.")] = 3,
    rate: Annotated[int, typer.Option(help="Events per second of each, in the mean: the last has most.")] = 400,
    seconds: SecondsOption = 30,
    settle: SettleOption = 10,
    seeds: Annotated[str, typer.Option(help="Seeds; for each one, both ways take their turn.")] = "1,2,3",
    warm: Annotated[int, typer.Option(help="Seconds of a run beforehand that is not measured.")] = 120,
    ledger: LedgerOption = LEDGER,
    memory: MemoryOption = "600m",
    folder: FolderOption = None,
) -> None:
    """End-to-end latency of windows that three nodes make together, and whether their counts are right."""
    arguments.at_least("pipelines", pipelines, 1)
    arguments.at_least("rate", rate, 1)
    arguments.at_least("seconds", seconds, 3)
    numbers = arguments.wholes("seeds", seeds, least=0)
    base = RelayRun("relay", 0, pipelines, rate, seconds, settle)
    runs = [replace(base, way=way, seed=seed) for seed in numbers for way in _turns(seed)]
    found: list[tuple[RelayRun, RelayOutcome]] = []
    whole_s = float(LEAD_S + settle + seconds + 10)
    with screen.ProgressBar([60.0 + warm, *[whole_s] * len(runs)]) as bar:
        bar.begin("three Spark applications, and a run to warm them")
        with nodes(arguments.memory(memory), lambda text: bar.say(text, 0.0), folder) as played:
            if warm:
                played.play(replace(base, seconds=warm, settle=0))
            bar.end()
            for run in runs:
                bar.begin(f"seed {run.seed}, {run.way}")
                outcome = played.play(run)
                Ledger(ledger).append(EXPERIMENT, run.way, run.setting, run.seed, asdict(outcome))
                found.append((run, outcome))
                bar.end()
    screen.out.print(_table(found))


def _turns(seed: int) -> tuple[str, ...]:
    """Which way is first changes from seed to seed: the later one runs on warmer machines."""
    return WAYS if seed % 2 else WAYS[::-1]


def _table(found: list[tuple[RelayRun, RelayOutcome]]) -> Table:
    made = Table(box=box.SIMPLE_HEAD)
    for head in HEADS:
        made.add_column(head, justify="right")
    for run, o in found:
        figures = [f"{x:,.0f}" for x in (o.mean_ms, o.p50_ms, o.p99_ms, o.worst_ms)]
        counts = map(str, (o.late, o.wrong, o.told))
        made.add_row(run.way, str(run.seed), str(o.windows), *figures, *counts, f"{o.contended:.0%}", f"{o.cores:.2f}")
    return made
