"""`headway bench session`: what each setting of the tuned session gains, and from how many rows on code pays."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway_lab.experiments.session import run as profiles
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger, origin
from headway_lab.harness.measuring import BenchSession, measured
from headway_lab.harness.options import CoresOption, LedgerOption, MemoryOption, SettleOption, WarmOption, at_least
from headway_lab.harness.report import figures_page, spread_words
from headway_lab.harness.setting import Setting
from headway_lab.harness.suite import base_setting, plan

LADDER_QUERIES = 2  # few, so that even large batches fit into two cores


def session(  # an argument for each option of the command
    queries: Annotated[int, typer.Option(help="Number of queries for the settings one by one.")] = 20,
    rate: Annotated[int, typer.Option(help="Events per second and query for the settings one by one.")] = 200,
    rates: Annotated[str, typer.Option(help="Events per second for code against none.")] = "1000,10000,30000,100000,200000",
    seconds: Annotated[int, typer.Option(help="Measured seconds per session.")] = 15,
    settle: SettleOption = 5,
    seeds: Annotated[str, typer.Option(help="Seeds; for each one, all sessions take their turn.")] = "1,2,3",
    warm_s: WarmOption = 240,
    out: Annotated[Path, typer.Option(help="The page with the plot.")] = Path("headway-session.html"),
    ledger: LedgerOption = LEDGER,
    memory: MemoryOption = "6g",
    cores: CoresOption = None,
) -> None:
    """Leave out one setting of the tuned session after the other, then try generated code on ever larger batches."""
    at_least(1, queries=queries, rate=rate, seconds=seconds)
    at_least(0, settle=settle, warm=warm_s)
    arguments.new_file("out", out)
    base = base_setting(Setting.delay, None, seconds, settle, rate, queries)
    steps = profiles.ladder(
        base_setting(Setting.delay, None, seconds, settle, 1, LADDER_QUERIES), arguments.wholes("rates", rates)
    )
    cases, numbers, book = [*profiles.leave_one_out(base), *steps], arguments.wholes("seeds", seeds, least=0), Ledger(ledger)
    segments = plan(["klink"], cases, numbers, book.done(), origin()["commit"], profiles.EXPERIMENT)
    measured(segments, book, warm_s, BenchSession.of(cores, memory), profiles.EXPERIMENT)
    records = book.of_this_commit(profiles.EXPERIMENT, map(asdict, cases))
    screen.out.print(table(profiles.gains(records, base)))
    tall = [r for r in records if r["setting"]["queries"] == LADDER_QUERIES]
    lines = {name: line for name in (profiles.INTERPRETED, profiles.COMPILED) if (line := profiles.line(tall, name))}
    if len(lines) == 2:
        for name, line in lines.items():
            screen.out.print(f"{name}: {line.fixed_ms:.0f} ms and {line.per_row_ms * 1000:.2f} us a row", highlight=False)
        rows = profiles.crossing(lines[profiles.INTERPRETED], lines[profiles.COMPILED])
        screen.out.print(
            "Generated code never pays." if rows is None else f"Generated code pays from {rows:,.0f} rows a batch on.",
            highlight=False,
        )
        shown = [("Generated code against none", "Each point is a run.", profiles.figure(lines))]
        out.write_text(figures_page("When generated code pays", shown), "utf-8")
        screen.out.print(f"Plot: {out}", soft_wrap=True)


def table(found: list[profiles.Gain]) -> Table:
    made = Table(title="Without a setting, over all of them: median of seeds (least..greatest)", title_justify="left")
    for head in ("setting left out", "processor time a batch", "mean latency"):
        made.add_column(head, justify="left" if head.startswith("setting") else "right")
    for gain in found:
        made.add_row(gain.key, f"x {spread_words(gain.cpu, 2)}", f"x {spread_words(gain.mean, 2)}")
    return made
