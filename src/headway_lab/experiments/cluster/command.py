"""`headway bench cluster`: kill executors of a real cluster; every window must come out, once, with its exact count."""

from dataclasses import asdict
from typing import Annotated

import typer

from headway.cli import arguments
from headway_lab.experiments.cluster.run import EXPERIMENT, ClusterPlan
from headway_lab.experiments.cluster.run import cluster as play
from headway_lab.harness import screen
from headway_lab.harness.children import recovery_figures
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import FolderOption, LedgerOption


def cluster(
    kills: Annotated[int, typer.Option(help="How many executors to kill.")] = 20,
    queries: Annotated[int, typer.Option(help="How many queries run meanwhile.")] = ClusterPlan.queries,
    seed: Annotated[int, typer.Option(help="Decides which executors, and when.")] = 1,
    folder: FolderOption = None,
    ledger: LedgerOption = LEDGER,
) -> None:
    """Kill executors of a standalone cluster of our own at random moments, and compare what came out with the truth."""
    arguments.at_least("kills", kills, 1)
    arguments.at_least("queries", queries, 1)
    with screen.ProgressBar([40.0] + [12.0] * kills + [15.0]) as bar:
        bar.begin("a cluster, and the first windows")

        def killed(number: int) -> None:
            bar.end()
            bar.begin(f"{number} of {kills} executors killed")

        outcome = play(kills, queries, seed, bar.say, killed, folder)
    figures: dict[str, float] = asdict(outcome.tally) | {
        "stuck": outcome.stuck,
        "restarts": outcome.restarts,
        "wrong": outcome.wrong,
    }
    figures |= recovery_figures(outcome.recovered_s)
    setting = {"kills": kills, "queries": queries, "rate": ClusterPlan.rate, "workers": 2}
    Ledger(ledger).append(EXPERIMENT, "klink", setting, seed, figures)
    screen.out.print(
        f"{kills} executors killed, {outcome.tally.words}, {outcome.stuck} times stuck;"
        f" on again after {figures['recovery_s']:.1f} s, {figures['worst_s']:.1f} at worst",
        highlight=False,
    )
    if outcome.wrong:
        raise typer.Exit(1)
