"""`headway sim slack`: slack thresholds under a deadline, five tuners and ours beside them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway.errors import SettingError
from headway_lab.experiments.simulator.figures import interval_words
from headway_lab.experiments.slack import figures as slack_figures
from headway_lab.experiments.slack import paper as slack_paper
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger, Record
from headway_lab.harness.report import figures_page

SCENARIOS = (*slack_paper.SCENARIOS, "models")
HEADS = {
    "beyond_share": ("beyond deadline, %", 100.0),
    "slack_ready": ("slack-ready, thousands", 1e-3),
    "events": ("events, thousands", 1e-3),
    "max_ms": ("longest, s", 1e-3),
    "mean_ms": ("mean, s", 1e-3),
    "cut_s": ("cut at, s", 1.0),
    "latency_nrmse": ("latency NRMSE, %", 100.0),
    "slack_ready_nrmse": ("slack-ready NRMSE, %", 100.0),
    "train_s": ("training, s", 1.0),
}


def slack(
    scenarios: Annotated[str, typer.Option(help="Which, with commas between them.")] = ",".join(SCENARIOS),
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 10,
    out: Annotated[Path, typer.Option(help="The page with the figures.")] = Path("headway-slack.html"),
    ledger: Annotated[Path, typer.Option(help="The file that results are appended to.")] = LEDGER,
) -> None:
    """The figures of the Slack-ScaleGate paper: delayed buses, a deadline, and which policy sets the slack threshold how."""
    arguments.at_least("seeds", seeds, 1)
    arguments.new_file("out", out)
    names = [part.strip() for part in scenarios.split(",") if part.strip()]
    if not names or not set(names) <= set(SCENARIOS):
        raise SettingError("scenarios", scenarios, f"some of {', '.join(SCENARIOS)}")
    book = Ledger(ledger)
    done = {(r["policy"], str(r["setting"]), r["seed"]) for r in book.of_this_commit(slack_paper.EXPERIMENT)}
    tasks = [t for t in slack_paper.tasks(names, seeds) if (t[1], str(slack_paper.setting(t[0])), t[2]) not in done]
    with screen.ProgressBar([5.0 if policy in ("sltuner", "gp") else 0.5 for _, policy, _ in tasks]) as bar:
        for task in tasks:
            name, policy, seed = task
            bar.begin(f"seed {seed}, {name}, {policy}")
            book.append(slack_paper.EXPERIMENT, policy, slack_paper.setting(name), seed, slack_paper.run(task), kind="sim")
            bar.end()
    records = book.of_this_commit(slack_paper.EXPERIMENT)
    for name in names:
        screen.out.print(_table(name, [r for r in records if r["setting"] == slack_paper.setting(name)]))
    out.write_text(figures_page("Slack thresholds under a deadline", slack_figures.slack(records)), "utf-8")
    screen.out.print(f"Figures: {out}", soft_wrap=True)


def _table(name: str, records: Sequence[Record]) -> Table:
    made = Table(title=f"{name}: mean over seeds (95 % of the mean)", title_justify="left")
    fields = [f for f in HEADS if records and f in records[0]]
    made.add_column("policy")
    for field in fields:
        made.add_column(HEADS[field][0], justify="right")
    for policy in dict.fromkeys(r["policy"] for r in records):
        of = [r for r in records if r["policy"] == policy]
        cells = [interval_words([r[field] * HEADS[field][1] for r in of]) for field in fields]
        made.add_row(policy, *cells, style="bold" if policy in ("sltuner", "gp") else None)
    return made
