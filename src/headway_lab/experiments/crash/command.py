"""`headway bench crash`: kill the driver again and again; every window must come out, once, with its exact count."""

from dataclasses import asdict
from typing import Annotated

import typer

from headway.cli import arguments
from headway_lab.experiments.crash.run import EXPERIMENT, FINISH_S, CrashPlan
from headway_lab.experiments.crash.run import crash as kill_often
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import LedgerOption


def crash(
    times: Annotated[int, typer.Option(help="How often to kill.")] = 20,
    seed: Annotated[int, typer.Option(help="Decides when.")] = 1,
    ledger: LedgerOption = LEDGER,
) -> None:
    """Kill the driver with SIGKILL at random moments, restart it, and compare what came out with the truth."""
    arguments.at_least("times", times, 1)
    with screen.ProgressBar([15.0] * times + [30.0 + FINISH_S]) as bar:
        bar.begin("first run")

        def killed(number: int) -> None:
            bar.end()
            bar.begin(f"killed {number} of {times} times")

        outcome = kill_often(times, seed, bar.say, killed)
    setting = {"queries": CrashPlan.queries, "rate": CrashPlan.rate, "times": times}
    figures = {"kills": outcome.kills} | asdict(outcome.tally) | {"wrong": outcome.tally.wrong}
    Ledger(ledger).append(EXPERIMENT, "klink", setting, seed, figures)
    screen.out.print(f"{outcome.kills} kills, {outcome.tally.words}", highlight=False)
    if outcome.tally.wrong:
        raise typer.Exit(1)
