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
STILL = (NEAR_IDEAL, KEEPS_STILL)  # arms in which nothing moves
ARMS = (*STILL, "prediction-rings", "least-loaded", "round-robin-placement", "random")
CALM_S = 4  # before the trouble begins, or up to a window longer


@dataclass(frozen=True)  # its defaults are those of the command
class ArmPlan:
    """What is measured of an arm: so many seconds of trouble, judged by the last of them.

    Where nothing moves there is nothing to wait for: after its first window an arm reads as much as it ever will. Longer
    would only let rows pile up where nodes are full, and never moving would look worse than it does.
    """

    scenario: Scenario
    seconds: int = 70
    judged: int = 30
    steady: int = 40  # in place of `seconds`, where nothing moves

    def lasts(self, arm: str) -> int:
        return min(self.seconds, self.steady) if arm in STILL else self.seconds


def play(stage: FleetStage, arm: str, plan: ArmPlan, seed: int, say: Say) -> tuple[dict[str, Any], list[FleetSample]]:
    """The figures of an arm, and all that was seen of it. A seed says which node has the trouble."""
    nodes = _turned(stage.fleet.nodes, seed)
    played, lasts = scene(plan.scenario, arm == NEAR_IDEAL, stage.queries, nodes), plan.lasts(arm)
    say("queries go where this arm begins, and read the rows of the last one to the end", 0.0)
    stage.rest(played.places)
    # The policy begins when there is nothing to be seen of the arm before, nor of a machine without limits.
    stage.limit(True)
    stage.send(played.heavy if played.awake else ())
    stage.decide_by(KEEPS_STILL if arm == NEAR_IDEAL else arm)
    let_pass("calm", calm_s(now_ms(), stage.plan.window_ms), say)
    agents, began, began_ms = stage.agent_seconds(), monotonic(), now_ms()
    stage.send(played.heavy)
    end_hog = None if played.hog is None else stage.disturb(played.hog, HOG_CORES, lasts + 30)
    try:
        let_pass("trouble", lasts, say)
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


def calm_s(at_ms: int, window_ms: int) -> float:
    """Until a window begins. Rows are counted when windows end: what is judged has as many ends of windows in every arm."""
    earliest = at_ms + 1000 * CALM_S
    return (-(-earliest // window_ms) * window_ms - at_ms) / 1000


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
