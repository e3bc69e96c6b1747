"""The experiments on slack thresholds (Zacheilas et al., section 6): five tuners, and ours beside them, on delayed buses."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from headway.estimate.slack_models import MODELS, fit, nrmse
from headway.estimate.slack_reports import clock_features, columns
from headway.model.graph import Edge, Graph
from headway.model.slack import Learns, Report, SlackPolicy
from headway.policy.slack import MaxTimestamp, SLTuner, StaticSlack, TcpAdaptation
from headway_lab.experiments.slack.application import Application, GraphTrace, GraphWorld, Operator
from headway_lab.workloads.bus_delays import Growing, Holdup, Periodic, Prompt, reports

EXPERIMENT = "slack"
PER_S = 500
LOW_MS = 1000.0
SEEDS_DRAWN = 1  # of more seeds only numbers are kept


@dataclass(frozen=True, slots=True)
class Scenario:
    """How the sources are delayed, for how long, and what the deadline is."""

    name: str
    seconds: int
    deadline_ms: float
    high_ms: float  # of the static rival, and the most that the tuner may choose

    def setting(self) -> dict[str, Any]:
        return {"scenario": self.name, "seconds": self.seconds, "deadline_ms": self.deadline_ms, "high_ms": self.high_ms}


SCENARIOS = {
    "periodic": Scenario("periodic", 400, 6_000, 10_000),
    "growing": Scenario("growing", 200, 35_000, 150_000),
    "chain": Scenario("chain", 400, 8_000, 10_000),
}
SAMPLES = 1846  # a half to learn from, a half to be judged by
MODEL_SCENARIO = {"scenario": "models", "samples": SAMPLES, "seconds": 400, "judged_by": "later"}
MODEL_SLTS = (500, 1_000, 2_000, 3_000, 4_500, 6_000, 8_000, 10_000)
COMM_MS = 5.0


@dataclass(frozen=True, slots=True)
class Contender:
    """What sets the thresholds, and what learns beside it; rivals need no curves."""

    policy: SlackPolicy
    learner: Learns | None = None


def policies(scenario: Scenario) -> dict[str, Callable[[], Contender]]:
    """By the names under which results are kept; made anew for every run, since a learner remembers."""
    known: dict[str, Callable[[], Contender]] = {
        "static-low": lambda: Contender(StaticSlack(LOW_MS)),
        "static-high": lambda: Contender(StaticSlack(scenario.high_ms)),
        "max-timestamp": lambda: Contender(MaxTimestamp()),
        "tcp": lambda: Contender(TcpAdaptation()),
        "static-deadline": lambda: Contender(StaticSlack(scenario.deadline_ms - 100)),  # at every gate
        "sltuner": lambda: tuned(SLTuner(scenario.deadline_ms, most_ms=scenario.high_ms)),
    }
    if scenario.name == "chain":
        known["static-split"] = lambda: Contender(StaticSlack((scenario.deadline_ms - COMM_MS) / 2 - 100))
    return known


def tuned(tuner: SLTuner) -> Contender:
    return Contender(tuner, tuner.learner())


def application(scenario: Scenario, seed: int) -> Application:
    held: Holdup = Growing() if scenario.name == "growing" else Periodic()
    told = {
        "bus": reports(scenario.seconds, PER_S, held, 3 * seed),
        "road": reports(scenario.seconds, PER_S, Prompt(), 3 * seed + 1),
    }
    join = Operator("join", sources=("bus", "road"))
    if scenario.name != "chain":
        return Application(Graph(("join",)), (join,), told, scenario.seconds)
    # Cameras are late while the buses are on time, and the other way round.
    told["camera"] = reports(scenario.seconds, PER_S, Periodic(from_s=35), 3 * seed + 2)
    graph = Graph(("join", "alarm"), (Edge("join", "alarm", COMM_MS),))
    return Application(graph, (join, Operator("alarm", service_ms=0.8, sources=("camera",))), told, scenario.seconds)


def simulate(scenario: Scenario, name: str, seed: int) -> dict[str, Any]:
    """One run, and what goes into the ledger of it."""
    chosen = policies(scenario)[name]()
    began = process_time()
    with _one_thread():
        trace = GraphWorld(application(scenario, seed), seed).run(chosen.policy, LOW_MS, chosen.learner)
    found = measures(trace, scenario) | {"took_s": round(process_time() - began, 2)}
    return found | curves(trace, scenario) if seed <= SEEDS_DRAWN else found


def _one_thread() -> Any:
    """Matrices of some hundred rows are not worth a second thread."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    return threadpool_limits(1)


def measures(trace: GraphTrace, scenario: Scenario) -> dict[str, Any]:
    beyond = int((trace.latency_ms > scenario.deadline_ms).sum())
    read = len(trace.latency_ms)
    return {
        "tuples": read,
        "slack_ready": trace.slack_ready,
        "slack_ready_met": trace.slack_ready if not beyond else read,
        "beyond_deadline": beyond,
        "beyond_share": round(beyond / max(1, read), 6),
        "max_ms": round(float(trace.latency_ms.max(initial=0.0)), 1),
        "mean_ms": round(float(trace.latency_ms.mean()), 1) if read else 0.0,
        "events": len(trace.events_at_s),
        "possible_events": trace.possible_events,
        "cut_s": cut_s(trace.reports["join"], scenario.deadline_ms),
    }


def cut_s(told: Sequence[Report], deadline_ms: float) -> float:
    """From when on the threshold is below the deadline: 0 if it always was, the run's end if it never stays there."""
    above = [r.at_s for r in told if r.slt_ms >= deadline_ms]
    return above[-1] if above else 0.0


def curves(trace: GraphTrace, scenario: Scenario) -> dict[str, Any]:
    """What is drawn of a run: one value a second, for each operator."""
    bins = np.arange(scenario.seconds + 1)
    return {
        "slt_series": {o: [round(r.slt_ms) for r in told] for o, told in trace.reports.items()},
        "latency_series": {o: [round(r.latency_ms) for r in told] for o, told in trace.reports.items()},
        "slack_series": {o: [r.slack_ready for r in told] for o, told in trace.reports.items()},
        "event_series": np.histogram(trace.events_at_s, bins)[0].tolist(),
        "gap_series": {o: [round(r.gap_ms) for r in told] for o, told in trace.reports.items()},
    }


def samples(seed: int) -> list[Report]:
    """Periods under different thresholds, as the application's history (Table 1): some of them, drawn by the seed."""
    scenario = SCENARIOS["periodic"]
    app = application(scenario, seed)
    told = [r for slt in MODEL_SLTS for r in GraphWorld(app, seed).run(StaticSlack(slt), slt).reports["join"]]
    rng = np.random.default_rng(seed)
    return [told[n] for n in rng.permutation(len(told))[:SAMPLES]]


def earlier_first(told: Sequence[Report]) -> tuple[list[Report], int]:
    """Sorted by time, and how many are to learn from: half of them, and none as late as those to be judged by.

    A tuner predicts what comes. Split by chance, every second to be judged lies between two that were learnt from, and a
    model that remembers them looks as if it could foresee.
    """
    by_time = sorted(told, key=lambda r: r.at_s)
    half = by_time[len(by_time) // 2].at_s
    return by_time, sum(r.at_s < half for r in by_time)


def judge_model(kind: str, seed: int) -> dict[str, Any]:
    """Train on the earlier half of the samples, judge by the later (Table 1), with the features of Eq. 6 as printed."""
    told, half = earlier_first(samples(seed))
    x = clock_features(*columns(tuple(told)))
    out: dict[str, Any] = {}
    train_s = 0.0
    for field, name in (("latency_ms", "latency"), ("slack_ready", "slack_ready")):
        y = np.array([float(getattr(r, field)) for r in told])
        with _one_thread():
            began = process_time()
            model = fit(kind, x[:half], y[:half])
            train_s += process_time() - began
            said, _ = model.predict(x[half:])
        out[f"{name}_nrmse"] = round(nrmse(y[half:], said), 4)
    return out | {"train_s": round(train_s, 3), "trained_on": half}


Task = tuple[str, str, int]  # scenario or "models", policy or model, seed


def tasks(scenarios: Sequence[str], seeds: int) -> Iterator[Task]:
    for seed in range(1, seeds + 1):
        for name in scenarios:
            yield from ((name, policy, seed) for policy in (MODELS if name == "models" else policies(SCENARIOS[name])))


def run(task: Task) -> dict[str, Any]:
    name, policy, seed = task
    return judge_model(policy, seed) if name == "models" else simulate(SCENARIOS[name], policy, seed)


def setting(name: str) -> dict[str, Any]:
    return MODEL_SCENARIO if name == "models" else SCENARIOS[name].setting()
