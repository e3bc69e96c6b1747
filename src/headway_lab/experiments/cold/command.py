"""`headway bench cold`: how long it takes from nothing to windows on time (claim C6)."""

from dataclasses import asdict
from statistics import median
from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway_lab.experiments.cold import run as colds
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import LedgerOption, QueriesOption, RateOption, at_least
from headway_lab.harness.setting import Setting
from headway_lab.harness.suite import base_setting


def cold(
    queries: QueriesOption = 10,
    rate: RateOption = 1_000,
    seconds: Annotated[int, typer.Option(help="Seconds to look, once all queries are started.")] = 60,
    seeds: Annotated[str, typer.Option(help="Seeds; for each one, all take their turn.")] = "1,2,3",
    ledger: LedgerOption = LEDGER,
) -> None:
    """Start everything in a fresh process and JVM, again and again, and see when windows come out on time."""
    at_least(1, queries=queries, rate=rate, seconds=seconds)
    setting, numbers, book = (
        base_setting(Setting.delay, None, seconds, 0, rate, queries),
        arguments.wholes("seeds", seeds, least=0),
        Ledger(ledger),
    )
    found: dict[str, list[colds.ColdStart]] = {kind: [] for kind in colds.KINDS}
    with screen.ProgressBar([seconds + 25.0] * len(found) * len(numbers)) as bar:
        for seed in numbers:
            for kind, of in found.items():
                bar.begin(f"seed {seed}, {kind}")
                of.append(colds.cold(kind, setting, seed))
                # What did not come to pass took at least as long as we looked.
                figures = {name: of[-1].started_s + seconds if s is None else s for name, s in asdict(of[-1]).items()}
                book.append(colds.EXPERIMENT, kind, asdict(setting), seed, figures)
                bar.end()
    screen.out.print(table(found))


def table(found: dict[str, list[colds.ColdStart]]) -> Table:
    title = (
        f"Seconds from the start of the process: median of seeds (on time: at most {colds.ON_TIME_MS} ms after it is due)"
    )
    made = Table(title=title, title_justify="left")
    for head in ("", "session", "all queries started", "a window on time", "every query on time"):
        made.add_column(head, justify="right" if head else "left")
    for kind, of in found.items():
        made.add_row(
            kind, *(_words([getattr(one, name) for one in of]) for name in ("session_s", "started_s", "first_s", "all_s"))
        )
    return made


def _words(seconds: list[float | None]) -> str:
    seen = [s for s in seconds if s is not None]
    if len(seen) * 2 <= len(seconds):
        return "not seen"
    spread = f" ({min(seen):.1f}..{max(seen):.1f})" if len(seen) > 1 else ""
    return f"{median(seen):.1f}{spread}" + (f", {len(seconds) - len(seen)} not seen" if len(seen) < len(seconds) else "")
