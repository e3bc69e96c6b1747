"""`headway claims`: what we and the papers say, and what was measured."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from headway.bench import claims as book
from headway.bench.ledger import Ledger
from headway.cli import screen

LEDGER = Path("bench/ledger.jsonl")
STYLES = {"reproduced": "green", "not reproduced": "red", "not measured": "dim"}


def claims(
    as_json: Annotated[bool, typer.Option("--json", help="A list of objects instead of a table.")] = False,
    ledger: Annotated[Path, typer.Option(help="Where `headway bench` has written its results.")] = LEDGER,
) -> None:
    """Print the table of claims: the paper's figure, ours, and the verdict."""
    findings = book.judge(book.load(), Ledger(ledger).records())
    if as_json:
        typer.echo(json.dumps([finding.as_json() for finding in findings], indent=2))
        return
    screen.out.print(table(findings))
    if not ledger.exists():
        screen.out.print(f"Nothing measured yet: no ledger at {ledger}. `headway bench klink` writes one.", soft_wrap=True)


def table(findings: list[book.Finding]) -> Table:
    made = Table(show_lines=True)
    for head in ("claim", "says", "the paper", "ours, live", "ours, simulated", "verdict"):
        made.add_column(head, overflow="fold")
    for finding in findings:
        claim, verdict = finding.claim, finding.verdict
        reason = f": {claim.reason}" if claim.reason and verdict != "reproduced" else ""
        made.add_row(
            claim.id, f"{claim.says} [dim]({claim.setting})[/]", claim.paper, finding.words(finding.live),
            finding.words(finding.sim), f"[{STYLES[verdict]}]{verdict}[/]{reason}",
        )  # fmt: skip
    return made
