"""`headway bench grid`: is there a load at which stock Spark is faster?"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from headway.cli import arguments
from headway.errors import SettingError
from headway_lab.experiments.grid import cells as grid_
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger, origin
from headway_lab.harness.measuring import BenchSession, measured
from headway_lab.harness.options import (
    CoresOption,
    LedgerOption,
    MemoryOption,
    SecondsOption,
    SeedsInTurnOption,
    SettleOption,
    WarmOption,
    at_least,
)
from headway_lab.harness.report import figures_page, spread_words
from headway_lab.harness.setting import POOLS, Setting
from headway_lab.harness.suite import base_setting, plan

HOW = "Klink's mean latency over that of the best of Spark's own ways at each load; below 1 Klink is faster."


def grid(  # an argument for each option of the command
    points: Annotated[str | None, typer.Option(help="Loads, as QUERIESxRATE with commas; a dozen unless told.")] = None,
    seconds: SecondsOption = 20,
    settle: SettleOption = 8,
    seeds: SeedsInTurnOption = "1,2,3",
    warm_s: WarmOption = 300,
    out: Annotated[Path, typer.Option(help="The page with the heat map.")] = Path("headway-grid.html"),
    ledger: LedgerOption = LEDGER,
    memory: MemoryOption = "6g",
    cores: CoresOption = None,
) -> None:
    """Measure Klink and Spark's own ways from one query to eighty and from a trickle to all that the cores can take.

    The whole takes about two hours. What this commit has in the ledger already is not measured again.
    """
    arguments.at_least("seconds", seconds, 1)
    at_least(0, settle=settle, warm=warm_s)
    arguments.new_file("out", out)
    base = base_setting(Setting.delay, None, seconds, settle)
    cases = grid_.cases(base, grid_.POINTS if points is None else [_point(text) for text in points.split(",")])
    book = Ledger(ledger)
    segments = plan(
        grid_.POLICIES, cases, arguments.wholes("seeds", seeds, least=0), book.done(), origin()["commit"], grid_.EXPERIMENT
    )
    # The heap is read after each stretch by collecting it, and would be the smaller for the next stretch.
    session = BenchSession.of(cores, memory, conf=POOLS | {"spark.driver.extraJavaOptions": f"-Xms{memory}"})
    measured(segments, book, warm_s, session, grid_.EXPERIMENT, rehearsed=grid_.rehearsal(base))
    found = grid_.cells(book.of_this_commit(grid_.EXPERIMENT, map(asdict, cases)))
    screen.out.print(_table(found))
    out.write_text(figures_page("Which is faster at which load", [("Never slower?", HOW, grid_.figure(found))]), "utf-8")
    screen.out.print(f"Heat map: {out}", soft_wrap=True)


def _point(text: str) -> tuple[int, int]:
    queries, by, rate = text.strip().partition("x")
    if not (by and queries.isdecimal() and rate.isdecimal() and int(queries) and int(rate)):
        raise SettingError("points", text, "numbers of queries and events per second, such as 2x200000,8x50000")
    return int(queries), int(rate)


def _table(found: list[grid_.GridCell]) -> Table:
    made = Table(title="Mean latency, median of seeds", title_justify="left", box=box.SIMPLE_HEAD)
    for head in ("load", "Klink", "best rival", "", "Klink / best (least..greatest)"):
        made.add_column(head, justify="left" if head in ("load", "") else "right")
    for cell in found:
        made.add_row(
            f"{cell.queries} x {cell.rate:,}/s", f"{cell.klink_ms:,.0f} ms", f"{cell.best_ms:,.0f} ms", cell.best,
            spread_words(cell.ratio, 2),
        )  # fmt: skip
    return made
