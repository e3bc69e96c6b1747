"""`headway metrics`: what a journal says in Prometheus's own form, and the files that go with it."""

from pathlib import Path
from typing import Annotated

import typer

from headway.cli import arguments
from headway.cli.dashboard import TargetOption
from headway.cli.extras import lacks
from headway.dashboard.glance import Glance
from headway.dashboard.metrics_text import exposition
from headway.errors import HeadwayError
from headway.model.time import duration_ms

FILES = Path(__file__).parents[1] / "dashboard"


def metrics(
    journal: Annotated[Path | None, typer.Argument(help="The journal; the newest of this user unless told.")] = None,
    alerts: Annotated[bool, typer.Option("--alerts", help="Print alert rules for Prometheus.")] = False,
    grafana: Annotated[bool, typer.Option("--grafana", help="Print a dashboard for Grafana.")] = False,
    target: TargetOption = "1 second",
) -> None:
    """Print the metrics of a journal, once. `headway dashboard` serves them under /metrics."""
    if alerts and grafana:
        raise HeadwayError("--alerts and --grafana are two files: ask for one of them")
    if alerts or grafana:
        typer.echo((FILES / ("alerts.yml" if alerts else "grafana.json")).read_text("utf-8"), nl=False)
        return
    glance = Glance(arguments.journal(journal), duration_ms("target", target))
    while glance.look():
        continue
    try:
        typer.echo(exposition(glance).decode(), nl=False)
    except ModuleNotFoundError as error:
        raise lacks("metrics", error) from None
