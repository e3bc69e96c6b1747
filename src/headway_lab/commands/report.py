"""`headway bench report`: the ledger as one HTML page."""

from pathlib import Path
from typing import Annotated

import typer

from headway.cli import arguments
from headway.errors import HeadwayError
from headway_lab.experiments.kafka import command as bench_kafka
from headway_lab.experiments.simulator import calibrate, figures, ladder, paper
from headway_lab.harness import claims, screen
from headway_lab.harness.ledger import LEDGER, Ledger, Record, newest
from headway_lab.harness.report import page
from headway_lab.harness.suite import EXPERIMENT
from headway_lab.harness.verdicts import judge


def report(
    ledger: Annotated[Path, typer.Option(help="Where `headway bench` has written its results.")] = LEDGER,
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("headway-report.html"),
    commit: Annotated[str | None, typer.Option(help="Which commit's runs to draw; the newest measured unless told.")] = None,
) -> None:
    """Build a page with figures and the table of claims."""
    arguments.new_file("out", out)
    records = Ledger(ledger).records()
    live = [r for r in newest(records) if r["experiment"] == EXPERIMENT and r["kind"] == "live"]
    if not live:
        raise HeadwayError(f"ledger = {str(ledger)!r}: expected runs of `headway bench klink`, but there are none")
    chosen = commit or live[-1]["commit"]
    runs = [r for r in live if r["commit"] == chosen]
    if not runs:
        known = dict.fromkeys(r["commit"] for r in live)
        raise HeadwayError(f"commit = {chosen!r}: expected one that was measured: {', '.join(known)}")
    runs += _newest(records, bench_kafka.EXPERIMENT, "live")
    simulated = figures.paper(_newest(records, paper.EXPERIMENT)) + figures.ladder(_newest(records, ladder.EXPERIMENT))
    simulated += [figures.calibration(calibrate.points(r)) for r in _newest(records, calibrate.EXPERIMENT)[-1:]]
    out.write_text(page("Headway: what was measured", runs, judge(claims.load(), records), simulated), "utf-8")
    screen.out.print(f"Report: {out}", soft_wrap=True)


def _newest(records: list[Record], experiment: str, kind: str = "sim") -> list[Record]:
    """What was found at the newest commit at which it was looked for."""
    found = [r for r in newest(records) if r["experiment"] == experiment and r["kind"] == kind]
    return [r for r in found if r["commit"] == found[-1]["commit"]]
