"""One arm: a scene under one policy, on a stage that is warm already; its figures are those of its last part."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from headway_lab.experiments.fleet_live.scenes import HOG_CORES, Scenario, scene
from headway_lab.experiments.fleet_live.stage import FleetStage
from headway_lab.experiments.fleet_live.staged_fleet import KEEPS_STILL
from headway_lab.experiments.fleet_live.watch import FleetSample, moves_in, rows_per_s, within
from headway_lab.harness.bench import let_pass
from headway_lab.harness.setting import Say
from headway_lab.workloads.wall_clock import now_ms

NEAR_IDEAL = "near-ideal"
ARMS = (NEAR_IDEAL, KEEPS_STILL, "prediction-rings", "least-loaded", "round-robin-placement", "random")
CALM_S = 8  # before the trouble begins


@dataclass(frozen=True)  # its defaults are those of the command
class ArmPlan:
    """What is measured of an arm: so many seconds of trouble, judged by the last of them."""

    scenario: Scenario
    seconds: int = 60
    judged: int = 30


def play(stage: FleetStage, arm: str, plan: ArmPlan, seed: int, say: Say) -> tuple[dict[str, Any], list[FleetSample]]:
    """The figures of an arm, and all that was seen of it. A seed says which node has the trouble."""
    nodes = _turned(stage.fleet.nodes, seed)
    played = scene(plan.scenario, arm == NEAR_IDEAL, stage.queries, nodes)
    say("the rows of the last arm are read to the end", 0.0)
    stage.drain()
    say("queries go where this arm begins", 0.0)
    stage.fleet.arrange(played.places)
    stage.decide_by(KEEPS_STILL if arm == NEAR_IDEAL else arm)
    stage.limit(True)
    stage.send(played.heavy if played.awake else ())
    let_pass("calm", CALM_S, say)
    agents, began, began_ms = stage.agent_seconds(), monotonic(), now_ms()
    stage.send(played.heavy)
    end_hog = None if played.hog is None else stage.disturb(played.hog, HOG_CORES, plan.seconds + 30)
    try:
        let_pass("trouble", plan.seconds, say)
    finally:
        if end_hog is not None:
            end_hog()
    until_ms, passed = now_ms(), monotonic() - began
    used = {name: (s - agents[name]) / passed for name, s in stage.agent_seconds().items()}
    samples = within(stage.watch.samples, began_ms - 1000 * CALM_S, until_ms)
    moves = [move for move in moves_in(stage.fleet.folder) if began_ms <= move.at_ms <= until_ms]
    return figures(samples, until_ms - 1000 * plan.judged, until_ms, len(moves)) | {
        "agent_share": round(max(used.values()), 5)
    }, samples


def figures(samples: Sequence[FleetSample], since_ms: int, until_ms: int, moves: int) -> dict[str, Any]:
    """Of the last part of an arm; the moves are of the whole of it."""
    judged = within(samples, since_ms, until_ms)
    latencies = np.array([out.latency_ms for sample in judged for out in sample.out] or [0], dtype=np.float64)
    sent = 1000 * (judged[-1].sent - judged[0].sent) / max(1, judged[-1].at_ms - judged[0].at_ms) if judged else 0.0
    return {
        "throughput": round(rows_per_s(judged), 1),
        "sent_per_s": round(sent, 1),
        "unread": judged[-1].sent - judged[-1].read if judged else 0,
        "windows": int(sum(len(sample.out) for sample in judged)),
        "p50_ms": round(float(np.percentile(latencies, 50)), 1),
        "p99_ms": round(float(np.percentile(latencies, 99)), 1),
        "sd_ms": round(float(latencies.std()), 1),
        "load_sd": round(float(np.mean([sample.spread for sample in judged])), 4) if judged else 0.0,
        "moves": moves,
    }


def _turned(nodes: Sequence[str], by: int) -> list[str]:
    by %= len(nodes)
    return [*nodes[by:], *nodes[:by]]
