"""`headway claims`: what we and the papers say, and what was measured."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from headway_lab.harness import claims as book
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.verdicts import Finding, Verdict, judge, tally

STYLES: dict[Verdict, str] = {
    "reproduced": "green",
    "measured once": "yellow",
    "incomplete": "yellow",
    "not reproduced": "red",
    "not measured": "dim",
}


def claims(
    as_json: Annotated[bool, typer.Option("--json", help="A list of objects instead of a table.")] = False,
    ledger: Annotated[Path, typer.Option(help="Where `headway bench` has written its results.")] = LEDGER,
) -> None:
    """Print the table of claims: the paper's figure, ours, and the verdict."""
    findings = judge(book.load(), Ledger(ledger).records())
    if as_json:
        typer.echo(json.dumps([finding.as_json() for finding in findings], indent=2))
        return
    screen.out.print(table(findings))
    screen.out.print(f"{tally(findings)}. docs/benchmarks.md says what the verdicts mean.", highlight=False, soft_wrap=True)
    if not ledger.exists():
        screen.out.print(f"Nothing measured yet: no ledger at {ledger}. `headway bench klink` writes one.", soft_wrap=True)


def table(findings: list[Finding]) -> Table:
    made = Table(show_lines=True, expand=True)
    for head, ratio in (("claim", None), ("says", 5), ("the paper", 3), ("ours", 6), ("verdict", 5)):
        made.add_column(head, overflow="fold", ratio=ratio)
    for finding in findings:
        claim = finding.claim
        made.add_row(
            claim.id, f"{escape(claim.says)} [dim]({escape(claim.setting)})[/]", escape(claim.paper),
            escape("\n".join(finding.words()) or "-"), _verdict(finding),
        )  # fmt: skip
    return made


def _verdict(finding: Finding) -> str:
    stale = "[yellow], stale[/]" if finding.stale else ""
    because = f"\n{escape(finding.because)}" if finding.because else ""
    return f"[{STYLES[finding.verdict]}]{finding.verdict}[/]{stale}{because}"
