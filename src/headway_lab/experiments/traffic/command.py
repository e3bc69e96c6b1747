"""`headway bench traffic`: which tuner sets the slack threshold best, live: all side by side over the same late buses."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.table import Table

from headway.cli import arguments
from headway.errors import SettingError
from headway.policy.patience import Deadline
from headway.policy.slack import MaxTimestamp, SlackPolicy, StaticSlack, TcpAdaptation
from headway_lab.experiments.traffic.run import LEAD_S, SETTLE_S, TrafficOutcome, TrafficPlan, TrafficResult, play
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import CoresOption, LedgerOption, MemoryOption, at_least

EXPERIMENT = "traffic"
START_S = 10  # all queries
LOW_MS = 1_000
SCENARIOS = {"periodic": (6_000, 10_000), "growing": (35_000, 150_000)}  # the deadline, and a threshold beyond it


def traffic(  # an argument for each option of the command
    scenario: Annotated[str, typer.Option(help="How the buses fall behind: periodic or growing.")] = "periodic",
    seconds: Annotated[int, typer.Option(help="How long windows are counted.")] = 140,
    rate: Annotated[int, typer.Option(help="Reports per second of each stream.")] = 500,
    deadline: Annotated[
        float | None, typer.Option(help="Seconds from a window's end to its result; 6, or 35 of a growing delay.")
    ] = None,
    seeds: Annotated[str, typer.Option(help="Seeds.")] = "1",
    warm: Annotated[int, typer.Option(help="Seconds of the same before that, not counted: a young JVM is slow.")] = 60,
    ledger: LedgerOption = LEDGER,
    memory: MemoryOption = "4g",
    cores: CoresOption = None,
) -> None:
    """Buses fall eight seconds behind and catch up again; a query for each tuner looks for congestion meanwhile."""
    at_least(1, seconds=seconds, rate=rate)
    arguments.at_least("warm", warm, 0)
    if scenario not in SCENARIOS:
        raise SettingError("scenario", scenario, f"one of {', '.join(SCENARIOS)}")
    arguments.at_least("deadline", 6.0 if deadline is None else deadline, 0.1)
    usual_ms, high_ms = SCENARIOS[scenario]
    deadline_ms = usual_ms if deadline is None else round(deadline * 1_000)
    policies = {name: Deadline(deadline_ms, tuner) for name, tuner in tuners(deadline_ms, high_ms).items()}
    plan = TrafficPlan(policies, seconds=seconds, rate=rate, growing=scenario == "growing")
    numbers, book = arguments.wholes("seeds", seeds, least=0), Ledger(ledger)
    with screen.spark_session("headway-traffic", cores=arguments.cores(cores), memory=arguments.memory(memory)) as spark:
        if warm:
            _play(spark, replace(plan, seconds=warm, seed=0, growing=False))
        for seed in numbers:
            played = _play(spark, replace(plan, seed=seed))
            told = {"scenario": scenario, "rate": rate, "seconds": seconds, "deadline_ms": deadline_ms}
            found = {outcome.name.replace("_", "-"): figures(outcome, played, deadline_ms) for outcome in played.outcomes}
            for name, figured in found.items():
                book.append(EXPERIMENT, name, told, seed, figured)
            screen.out.print(_table(found, seed))


def tuners(deadline_ms: int, high_ms: int) -> dict[str, SlackPolicy | None]:
    """By the name of their query; None is the tuner that Deadline has of its own."""
    return {
        "static_low": StaticSlack(LOW_MS),
        "static_high": StaticSlack(high_ms),
        "max_timestamp": MaxTimestamp(),
        "tcp": TcpAdaptation(),
        "static_deadline": StaticSlack(deadline_ms - 500),
        "sltuner": None,
    }


def _play(spark: Any, plan: TrafficPlan) -> TrafficResult:
    with (
        tempfile.TemporaryDirectory(prefix="headway-traffic-", ignore_cleanup_errors=True) as folder,
        screen.ProgressBar([float(START_S + LEAD_S + SETTLE_S + plan.seconds)]) as bar,
    ):
        bar.begin(f"seed {plan.seed}, {len(plan.policies)} tuners side by side")

        def show(begun: TrafficPlan, *_: object) -> None:
            bar.say("measuring", max(0.0, begun.until_ms / 1_000 - time.time()))

        return play(spark, plan, Path(folder), show)


def figures(outcome: TrafficOutcome, played: TrafficResult, deadline_ms: int) -> dict[str, Any]:
    """For the ledger. `late_met` of a tuner that broke the deadline is the number of all rows: the best baseline kept it."""
    latencies = np.array(outcome.latencies_ms or [0.0])
    beyond = float((latencies > deadline_ms).mean())
    right = sum(played.truth.get(event) == seen for event, seen in outcome.events.items())
    return {
        "windows": len(latencies),
        "mean_ms": round(float(latencies.mean()), 1),
        "max_ms": round(float(latencies.max()), 1),
        "beyond_share": round(beyond, 4),
        "late_rows": outcome.late,
        "late_met": outcome.late if beyond == 0 else 2 * played.plan.rate * played.plan.seconds,
        "events": len(outcome.events),
        "events_right": right,
        "events_true": len(played.truth),
    }


def _table(found: dict[str, dict[str, Any]], seed: int) -> Table:
    made = Table(box=box.SIMPLE_HEAD, title=f"seed {seed}", title_justify="left")
    for head in ("tuner", "mean s", "longest s", "beyond the deadline", "late rows", "events", "of them right", "true"):
        made.add_column(head, justify="left" if head == "tuner" else "right")
    for name, f in found.items():
        times = (f"{f['mean_ms'] / 1000:.2f}", f"{f['max_ms'] / 1000:.2f}", f"{f['beyond_share']:.1%}")
        made.add_row(name, *times, *(f"{f[key]:,}" for key in ("late_rows", "events", "events_right", "events_true")))
    return made
