"""`headway bench cluster`: kill executors of a real cluster; every window must come out, once, with its exact count."""

from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from headway.bench.cluster import EXPERIMENT, Plan
from headway.bench.cluster import cluster as play
from headway.bench.ledger import Ledger
from headway.cli import given, screen
from headway.cli.claims import LEDGER


def cluster(
    kills: Annotated[int, typer.Option(help="How many executors to kill.")] = 20,
    queries: Annotated[int, typer.Option(help="How many queries run meanwhile.")] = Plan.queries,
    seed: Annotated[int, typer.Option(help="Decides which executors, and when.")] = 1,
    folder: Annotated[Path | None, typer.Option(help="Where to keep what the run leaves behind, logs and all.")] = None,
    ledger: Annotated[Path, typer.Option(help="The file that results are appended to.")] = LEDGER,
) -> None:
    """Kill executors of a standalone cluster of our own at random moments, and compare what came out with the truth."""
    given.at_least("kills", kills, 1)
    given.at_least("queries", queries, 1)
    with screen.Bar([40.0] + [12.0] * kills + [15.0]) as bar:
        bar.begin("a cluster, and the first windows")

        def killed(number: int) -> None:
            bar.end()
            bar.begin(f"{number} of {kills} executors killed")

        outcome = play(kills, queries, seed, bar.say, killed, folder)
    t, waits = outcome.tally, outcome.recovered_s
    figures = asdict(t) | {"stuck": outcome.stuck, "restarts": outcome.restarts, "wrong": outcome.wrong}
    figures |= {"recovery_s": round(median(waits), 2) if waits else 0.0, "worst_s": round(max(waits, default=0.0), 2)}
    setting = {"kills": kills, "queries": queries, "rate": Plan.rate, "workers": 2}
    Ledger(ledger).append(EXPERIMENT, "klink", setting, seed, figures)
    screen.out.print(
        f"{kills} executors killed, {t.windows:,} windows with {t.panes:,} counts: {t.missing} missing, {t.twice} twice,"
        f" {t.miscounted} wrong, {outcome.stuck} times stuck; on again after {figures['recovery_s']:.1f} s,"
        f" {figures['worst_s']:.1f} at worst",
        highlight=False,
    )
    if outcome.wrong:
        raise typer.Exit(1)
