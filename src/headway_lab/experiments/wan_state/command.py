"""`headway bench wan-state`: a checkpoint over shaped links, by the transfer that moves use."""

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from headway.cli import arguments
from headway.errors import SettingError
from headway_lab.experiments.wan_state.run import EXPERIMENT, ChosenTarget, PulledState, StateCase, play, setting
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import FolderOption, LedgerOption, at_least

Result = tuple[int, PulledState, dict[str, ChosenTarget]]


def wan_state(
    seeds: Annotated[str, typer.Option(help="Seeds.")] = "1,2,3",
    megabytes: Annotated[int, typer.Option(help="Of state.")] = 64,
    mbit: Annotated[str, typer.Option(help="Of the links to the targets, with commas between them.")] = "20,10,5",
    changed: Annotated[float, typer.Option(help="The share that changes before the second pull.")] = 0.05,
    ledger: LedgerOption = LEDGER,
    folder: FolderOption = None,
) -> None:
    """Pull a checkpoint over shaped links between sites in network namespaces; no Spark is needed."""
    at_least(2, megabytes=megabytes)
    if not 0 < changed < 1:
        raise SettingError("changed", changed, "a share above 0 and below 1, e.g. 0.05")
    case = StateCase(megabytes, tuple(arguments.wholes("mbit", mbit)), changed)
    numbers = arguments.wholes("seeds", seeds)
    found: list[Result] = []
    at_a_time = [megabytes * 8 / speed for speed in case.mbit]
    expected = 5 + 2 * at_a_time[0] + sum(at_a_time) / len(at_a_time)
    with screen.ProgressBar([expected] * len(numbers)) as bar, TemporaryDirectory(prefix="headway-wan-") as temp:
        for seed in numbers:
            bar.begin(f"seed {seed}")
            pulled, chosen = play(case, seed, (folder or Path(temp)) / str(seed), lambda text: bar.say(text, 0.0))
            Ledger(ledger).append(EXPERIMENT, "transfer", setting(case), seed, asdict(pulled), kind="no-spark")
            for arm, one in chosen.items():
                Ledger(ledger).append(EXPERIMENT, arm, setting(case), seed, asdict(one), kind="no-spark")
            found.append((seed, pulled, chosen))
            bar.end()
    screen.out.print(_pulls(found))
    screen.out.print(_targets(found))
    if any(pulled.wrong for _, pulled, _ in found):
        raise typer.Exit(1)


def _pulls(found: list[Result]) -> Table:
    heads = ("seed", "wrong", "s", "bytes / bandwidth", "ratio", "MB sent", "on the wire", "dollars", "of the files")
    made = _table("A pull, and one after a part has changed", (*heads, "MB again", "s again"))
    for seed, p, _ in found:
        made.add_row(
            str(seed), str(p.wrong), f"{p.seconds:.1f}", f"{p.expected_s:.1f}", f"{p.time_ratio:.3f}", f"{p.sent_mb:.1f}",
            f"{p.wire_mb:.1f}", f"{p.dollars:.5f}", f"{p.compressed:.0%}", f"{p.again_mb:.1f}", f"{p.again_s:.1f}",
        )  # fmt: skip
    return made


def _targets(found: list[Result]) -> Table:
    made = _table("Where to", ("seed", "choice", "target", "expected s", "s", "MB sent", "dollars"))
    for seed, _, chosen in found:
        for arm, one in chosen.items():
            expected = f"{one.expected_s:.1f}" if one.expected_s else "-"
            made.add_row(
                str(seed), arm, one.target, expected, f"{one.move_s:.1f}", f"{one.sent_mb:.1f}", f"{one.dollars:.5f}"
            )
    return made


def _table(title: str, heads: tuple[str, ...]) -> Table:
    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    for head in heads:
        made.add_column(head, justify="right")
    return made
