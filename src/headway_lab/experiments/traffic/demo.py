"""`headway demo traffic`: congestion in a city whose buses report late, under one patience and another."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.live import Live

from headway.cli import arguments
from headway.errors import SettingError
from headway.policy.patience import Deadline, Fixed, PatiencePolicy, Quantile, SlackGate
from headway_lab.experiments.traffic import page as traffic_page
from headway_lab.experiments.traffic.run import LEAD_S, SETTLE_S, TrafficPlan, TrafficResult, WatchedQuery, play
from headway_lab.harness import screen
from headway_lab.harness.options import CoresOption, MemoryOption, SeedOption, at_least
from headway_lab.workloads.traffic import aarhus, austin
from headway_lab.workloads.traffic.truth import Event, Seen
from headway_lab.workloads.wall_clock import now_ms


def traffic(  # an argument for each option of the command
    seconds: Annotated[int, typer.Option(help="How long windows are counted.")] = 45,
    rate: Annotated[int, typer.Option(help="Reports per second of each stream.")] = 500,
    patience: Annotated[str, typer.Option(help="Of the query that always waits the same.")] = "2 s",
    slt: Annotated[str, typer.Option(help="Slack threshold: how far the buses may be behind and are waited for.")] = "4 s",
    deadline: Annotated[
        float | None, typer.Option(help="Seconds: one more query, whose slack threshold is tuned to meet it.")
    ] = None,
    real: Annotated[
        bool, typer.Option("--real", help="Austin's buses and Aarhus' road sensors, from HEADWAY_DATA, 400 times as fast.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the page.")] = Path("headway-report"),
    seed: SeedOption = 1,
    memory: MemoryOption = "4g",
    cores: CoresOption = None,
) -> None:
    """Buses fall eight seconds behind and catch up again: which kind of patience finds the congestion, and when?"""
    at_least(1, seconds=seconds, rate=rate)
    if deadline is not None and not deadline > 0:
        raise SettingError("deadline", deadline, "more than 0 seconds")
    policies: dict[str, PatiencePolicy] = {
        "fixed": Fixed(patience), "quantile": Quantile(0.99), "slack_gate": SlackGate(slt),
    }  # fmt: skip
    if deadline is not None:
        policies["deadline"] = Deadline(round(deadline * 1_000))
    arguments.new_file("out", out / "traffic.html" if out.is_dir() else out)
    city = (austin(), aarhus()) if real else None
    with (
        screen.spark_session("headway-traffic", cores=arguments.cores(cores), memory=arguments.memory(memory)) as spark,
        tempfile.TemporaryDirectory(prefix="headway-traffic-", ignore_cleanup_errors=True) as folder,
    ):
        names = ", ".join(policies)
        screen.err.print(f"{names}: some {LEAD_S + SETTLE_S} s to settle, then windows count", highlight=False)
        plan = TrafficPlan(policies, seconds=seconds, rate=rate, city=city, seed=seed)
        with Live(console=screen.out, auto_refresh=False, transient=True) as live:

            def show(plan: TrafficPlan, watched: Mapping[str, WatchedQuery], truth: Mapping[Event, Seen]) -> None:
                if screen.out.is_terminal:
                    live.update(traffic_page.table(plan, watched, truth, now_ms()), refresh=True)

            played = play(spark, plan, Path(folder), show)
    _show(played, None if deadline is None else deadline * 1_000, out)


def _show(played: TrafficResult, deadline_ms: float | None, out: Path) -> None:
    screen.out.print(traffic_page.summary(played, deadline_ms))
    out.mkdir(exist_ok=True)
    path = out / "traffic.html"
    path.write_text(traffic_page.page(played, deadline_ms), "utf-8")
    screen.out.print(f"Page: {path}", soft_wrap=True)
