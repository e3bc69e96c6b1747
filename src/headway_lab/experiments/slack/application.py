"""An application of operators behind slack gates, in virtual time: what its thresholds do to latency, order and events.

Thresholds are decided, guarded, set and written down by the live objects (`headway.loop.thresholds` and the kernel); here
are the gates, the operators and the tuples between them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from headway.errors import SettingError
from headway.loop.kernel import Kernel, Log
from headway.loop.thresholds import Threshold
from headway.model.arrays import Floats
from headway.model.graph import Graph
from headway.model.message import Learnt
from headway.model.slack import Learns, Report, SlackPolicy
from headway.model.time import WallMs
from headway.sim.gates import Tuples, VirtualGate, no_tuples, together
from headway.sim.microbatch import NoJournal
from headway_lab.experiments.slack.join import events
from headway_lab.workloads.bus_delays import SourceReports

APPLICATION = "application"  # what its thresholds are asked for, in a journal


@dataclass(frozen=True, slots=True)
class Operator:
    """Reads a gate; every thread reads every tuple and does its part of the work on it, as in ScaleJoin."""

    name: str
    service_ms: float = 1.5  # of one thread alone
    threads: int = 4
    window_ms: float = 5000.0
    sources: tuple[str, ...] = ()  # of the world; what other operators send comes after them

    def __post_init__(self) -> None:
        if not (self.service_ms >= 0 and self.threads >= 1 and self.window_ms >= 0):
            raise SettingError("operator", self, "0 ms or more, and at least one thread")


@dataclass(frozen=True, slots=True)
class Application:
    """The graph, its operators, and the sources: reports of buses and of road sensors by name."""

    graph: Graph
    operators: tuple[Operator, ...]
    reports: Mapping[str, SourceReports]
    seconds: int
    buses: frozenset[str] = frozenset({"bus"})

    def __post_init__(self) -> None:
        if {o.name for o in self.operators} != set(self.graph.operators):
            raise SettingError("operators", [o.name for o in self.operators], f"those of the graph, {self.graph.operators}")
        for operator in self.operators:
            if not set(operator.sources) <= set(self.reports):
                raise SettingError("operator.sources", operator.sources, f"some of {', '.join(self.reports)}")


@dataclass
class GraphTrace:
    """What was seen of a run, period by period."""

    reports: dict[str, list[Report]] = field(default_factory=dict)
    because: list[str] = field(default_factory=list)
    latency_ms: Floats = field(default_factory=lambda: np.empty(0))  # of each tuple, end to end, from its first gate on
    events_at_s: Floats = field(default_factory=lambda: np.empty(0))
    possible_events: int = 0

    @property
    def slack_ready(self) -> int:
        return sum(r.slack_ready for reports in self.reports.values() for r in reports)


class _Running:
    """An operator at work: its gate, what is on the way to it, and when it is free again."""

    def __init__(self, operator: Operator, inputs: list[Tuples], rng: np.random.Generator) -> None:
        self.operator, self.rng = operator, rng
        self.gate = VirtualGate(len(inputs))
        self.inbox = inputs
        self.free_at, self.sent_upto = 0.0, -np.inf
        self.slt_ms = 0.0
        self.read: list[tuple[Floats, NDArray[np.int64], Floats]] = []  # event time, origin, when done

    def step(self, start: float, end: float) -> tuple[Tuples, Report]:
        """Read what the gate gives until `end`; what goes on to the next, and the period's report."""
        came = []
        for j, inbox in enumerate(self.inbox):
            upto = int(np.searchsorted(inbox.at, end))
            came.append(inbox.take(slice(0, upto)))
            self.inbox[j] = inbox.take(slice(upto, None))
        tuples, when, slack = self.gate.step(start, end, self.slt_ms, together(came))
        done = self._served(when)
        waits = max(0.0, end - self.gate.oldest_at)
        report = Report(
            self.operator.name, end / 1000, self.slt_ms, max(float((done - tuples.at).max(initial=0.0)), waits),
            int(slack.sum()), self.operator.threads, self.operator.window_ms, self.gate.gap_ms, waits,
        )  # fmt: skip
        self.read.append((tuples.ts, tuples.origin, done))
        # The next gate takes sorted streams only: a late one goes on with the time of those it comes after.
        ts = np.maximum.accumulate(np.maximum(tuples.ts, self.sent_upto))
        self.sent_upto = float(ts[-1]) if len(ts) else self.sent_upto
        return Tuples(ts, done, tuples.source, tuples.origin, tuples.since), report

    def _served(self, when: Floats) -> Floats:
        """One after the other: done = work + max(read, the one before done), written without a loop."""
        if not len(when):
            return when
        mean = self.operator.service_ms / self.operator.threads
        total = np.cumsum(self.rng.gamma(4.0, mean / 4.0, len(when)) if mean > 0 else np.zeros(len(when)))
        before = np.concatenate([[0.0], total[:-1]])
        done = total + np.maximum.accumulate(np.maximum(when, self.free_at) - before)
        self.free_at = float(done[-1])
        return np.asarray(done)


class GraphWorld:
    """Runs an application under a policy, period by period. The same seed gives the same run."""

    def __init__(self, app: Application, seed: int = 1, period_ms: float = 1000.0) -> None:
        self.app, self.period_ms = app, period_ms
        rngs = np.random.default_rng(seed).spawn(len(app.operators))
        first = np.cumsum([0, *(len(r.made_ms) for r in app.reports.values())])
        sources = {
            name: Tuples(r.made_ms, r.in_ms, np.zeros(len(r.made_ms), np.int64), n + np.arange(len(r.made_ms)), r.in_ms)
            for (name, r), n in zip(app.reports.items(), first, strict=False)
        }
        feeds = {o: [e for e in app.graph.edges if e.target == o] for o in app.graph.operators}
        self.running = {
            o.name: _Running(o, [*(sources[s] for s in o.sources), *(no_tuples() for _ in feeds[o.name])], rng)
            for o, rng in zip(app.operators, rngs, strict=True)
        }
        for running in self.running.values():
            running.inbox = [_numbered(inbox, j) for j, inbox in enumerate(running.inbox)]
        self.routes = {
            o: [
                (e.target, len(self.running[e.target].operator.sources) + feeds[e.target].index(e), e.comm_ms)
                for e in app.graph.edges
                if e.source == o
            ]
            for o in app.graph.operators
        }

    def run(
        self, policy: SlackPolicy, start_ms: float = 0.0, learner: Learns | None = None, journal: Log | None = None
    ) -> GraphTrace:
        """Before every period the live kernel asks the policy; before the first there is nothing to be seen."""
        trace, out = GraphTrace({o: [] for o in self.app.graph.operators}), []
        # Rivals that know of no deadline are as in their papers: no stream is bounded.
        threshold = Threshold(policy, learner, start_ms, inf, self.app.graph)
        threshold.learnt(Learnt(APPLICATION, threshold, ()))
        kernel, question = Kernel(NoJournal() if journal is None else journal), threshold.question(APPLICATION)
        for n in range(int(self.app.seconds * 1000 / self.period_ms)):
            if n:
                threshold.reports += [reports[-1] for reports in trace.reports.values()]
                _learn(threshold)
            said = kernel.ask(question, WallMs(round(n * self.period_ms)))
            assert said is not None, "there is always something to decide"
            trace.because.append(said.because)
            out += self._period(n, threshold.slts, trace)
        trace.latency_ms = np.concatenate(out) if out else trace.latency_ms
        self._count_events(trace)
        return trace

    def _period(self, n: int, slts: Mapping[str, float], trace: GraphTrace) -> list[Floats]:
        """One period of all operators; the end-to-end latencies of those that came through."""
        out = []
        for o in self.app.graph.in_order():
            running = self.running[o]
            running.slt_ms = slts[o]
            sent, report = running.step(n * self.period_ms, (n + 1) * self.period_ms)
            trace.reports[o].append(report)
            for target, j, comm_ms in self.routes[o]:
                moved = Tuples(sent.ts, sent.at + comm_ms, np.full(len(sent), j), sent.origin, sent.since)
                self.running[target].inbox[j] = together([self.running[target].inbox[j], moved])
            if not self.routes[o]:
                out.append(sent.at - sent.since)
        return out

    def _count_events(self, trace: GraphTrace) -> None:
        """Events of all joins: operators that read a source of buses."""
        area = np.concatenate([r.area for r in self.app.reports.values()])
        hot = np.concatenate([r.hot for r in self.app.reports.values()])
        bus = np.concatenate([np.full(len(r.area), name in self.app.buses) for name, r in self.app.reports.items()])
        found = []
        for running in self.running.values():
            if self.app.buses & set(running.operator.sources):
                ts, origin, done = (np.concatenate(parts) for parts in zip(*running.read, strict=True))
                readings, possible = events(ts, bus[origin], area[origin], hot[origin], running.operator.window_ms)
                found.append(done[readings] / 1000)
                trace.possible_events += possible
        trace.events_at_s = np.sort(np.concatenate(found)) if found else trace.events_at_s


def _learn(threshold: Threshold) -> None:
    """The lesson of a period, at once: in virtual time nothing waits for it."""
    work = threshold.lesson(APPLICATION)
    assert work is not None, "every period has its reports"
    message = work()
    if message.error is not None:  # live the threshold would stay as it is; here it is a mistake of ours
        raise RuntimeError(f"learning has failed: {message.error}")
    threshold.learnt(message)


def _numbered(tuples: Tuples, source: int) -> Tuples:
    return Tuples(tuples.ts, tuples.at, np.full(len(tuples), source), tuples.origin, tuples.since)
