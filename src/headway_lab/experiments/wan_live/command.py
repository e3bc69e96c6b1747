"""`headway bench wan`: three sites with thin links; twice the rows and half a link in the middle; policies in turns."""

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from headway.cli import arguments
from headway.errors import SettingError
from headway.policy.load import policy_of
from headway_lab.experiments.wan_live.disturbance import FAULTS, WanLiveCase
from headway_lab.experiments.wan_live.run import EXPERIMENT, WanLiveOutcome, play, setting
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import FolderOption, LedgerOption, at_least

START_S, STOP_S = 90.0, 60.0


def wan(
    arms: Annotated[str, typer.Option(help="Policies, with commas between them.")] = "wasp,no-adapt",
    seeds: Annotated[str, typer.Option(help="Seeds; for each one, all policies take their turn.")] = "1",
    seconds: Annotated[int, typer.Option(help="For how long rows are sent.")] = 180,
    change: Annotated[int, typer.Option(help="After so many seconds rates double and the link halves.")] = 60,
    rate: Annotated[int, typer.Option(help="Rows a second of each site at first.")] = 300,
    kbit: Annotated[int, typer.Option(help="Of each link, a second.")] = 900,
    round: Annotated[int, typer.Option(help="Seconds between two questions.")] = 10,
    partial: Annotated[bool, typer.Option("--partial", help="Allow plans that aggregate at the sources.")] = False,
    fault: Annotated[
        str, typer.Option(help="Instead of that: `link`, one is cut; `site`, all compute of one is killed.")
    ] = "none",
    fault_seconds: Annotated[int, typer.Option(help="For so long.")] = 60,
    ledger: LedgerOption = LEDGER,
    folder: FolderOption = None,
) -> None:
    """A pipeline over three sites in network namespaces, each with its own Spark and Kafka, against the truth."""
    at_least(1, rate=rate, round=round)
    at_least(128, kbit=kbit)
    at_least(1, fault_seconds=fault_seconds)
    if fault not in FAULTS:
        raise SettingError("fault", fault, f"one of {', '.join(FAULTS)}")
    arguments.at_least("seconds", seconds, change + (60 if fault == "none" else fault_seconds))
    names, numbers = arms.split(","), arguments.wholes("seeds", seeds)
    for name in names:
        policy_of("adaptation", name)
    case = WanLiveCase(seconds, change, rate, kbit, round_s=round, partial=partial, fault=fault, fault_s=fault_seconds)
    found: list[tuple[str, int, WanLiveOutcome]] = []
    runs = [(arm, seed) for seed in numbers for arm in (names if seed % 2 else names[::-1])]
    with (
        screen.ProgressBar([START_S + seconds + STOP_S] * len(runs)) as bar,
        TemporaryDirectory(prefix="headway-wan-") as temp,
    ):
        for number, (arm, seed) in enumerate(runs):
            bar.begin(f"seed {seed}, {arm}")
            place = (folder or Path(temp)) / f"{number}-{arm}"
            outcome = play(case, arm, seed, place, lambda text: bar.say(text, 0.0))
            Ledger(ledger).append(EXPERIMENT, arm, setting(case), seed, asdict(outcome))
            found.append((arm, seed, outcome))
            bar.end()
    screen.out.print(_table(found))
    for arm, seed, outcome in found:
        for line in outcome.decided:
            screen.out.print(f"{arm}, seed {seed}: {line}", highlight=False, soft_wrap=True)
    if any(outcome.wrong or outcome.twice for _, _, outcome in found):
        raise typer.Exit(1)


def _table(found: list[tuple[str, int, WanLiveOutcome]]) -> Table:
    made = Table(box=box.SIMPLE_HEAD)
    judged = ("wrong", "twice", "on time", "processing", "delay s", "worst s", "caught up s")
    for head in ("policy", "seed", *judged, "MB", "dollars", "changes"):
        made.add_column(head, justify="right")
    for arm, seed, o in found:
        made.add_row(
            arm, str(seed), str(o.wrong), str(o.twice), f"{o.on_time:.3f}", f"{o.processing:.3f}", f"{o.delay_s:.1f}",
            f"{o.worst_s:.1f}", f"{o.caught_up_s:.1f}", f"{o.wan_mb:,.1f}", f"{o.dollars:.5f}", str(o.changes),
        )  # fmt: skip
    return made
