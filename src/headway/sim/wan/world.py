"""A pipeline in virtual time: the live policy and question over an engine, with what a monitor knows of it.

    world = WanWorld(truth, (plan, *others), deployed, Wasp(), seed=1)
    trace = world.run()

Every 40 s the question is asked. What is decided takes its time: stages stand still, state crosses the links as they are,
and rows wait meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headway.estimate.link import LinkWatch
from headway.estimate.stream_rates import path_ms, planned_rates, usd_an_hour
from headway.loop.kernel import Kernel, Log
from headway.loop.questions.adaptation import ADAPTATION, Calm, adaptation
from headway.model.adaptation import (
    LONG_AGO,
    AdaptationDecision,
    AdaptationPolicy,
    AreaView,
    Degrade,
    Keep,
    PastChange,
    Replan,
    technique_of,
)
from headway.model.area import Area, Links, Site
from headway.model.arrays import Floats
from headway.model.geo import Deployment, GeoPlan
from headway.model.time import WallMs
from headway.sim.microbatch import NoJournal
from headway.sim.wan.change import ChangeUnderWay, begun
from headway.sim.wan.engine import StepSeen, WanEngine
from headway.sim.wan.monitor import AreaMonitor
from headway.sim.wan.trace import AreaSecond, AreaTrace, CarriedOut
from headway.sim.wan.truth import AreaTruth

KEPT = 16  # past changes in a view


@dataclass(frozen=True, slots=True)
class AreaRules:
    """How a pipeline is looked after."""

    round_ms: int = 40_000
    may_degrade: bool = False
    calm: Calm = Calm()
    watch: LinkWatch = LinkWatch()


class WanWorld:
    """An engine, a monitor, and a kernel that asks one question."""

    def __init__(
        self,
        truth: AreaTruth,
        plans: Sequence[GeoPlan],
        deployed: Deployment,
        policy: AdaptationPolicy,
        journal: Log | None = None,
        rules: AreaRules | None = None,
        seed: int = 0,
    ) -> None:
        """`plans`: the first runs at first."""
        self.truth, self.plans, self.rules = truth, tuple(plans), rules or AreaRules()
        self.engine = WanEngine(plans[0], deployed, truth)
        self.monitor = AreaMonitor(self.engine, seed, self.rules.watch)
        self.kernel, self.trace = Kernel(journal or NoJournal()), AreaTrace(truth.step_ms)
        self._change: ChangeUnderWay | None = None
        self._doing: tuple[str, str, float] = ("", "", 0.0)
        self._restarts_ms = 0
        self._changed_at, self._past = LONG_AGO, ()  # type: tuple[WallMs, tuple[PastChange, ...]]
        self._busy = np.zeros((len(truth.area), len(truth.area)))
        self.name = plans[0].name
        self.kernel.add(adaptation(self.name, policy, self._see, self._act, self.rules.calm))

    @property
    def now(self) -> WallMs:
        return WallMs(self.engine.step_at * self.truth.step_ms)

    def run(self, until_ms: int | None = None) -> AreaTrace:
        last = self.truth.steps if until_ms is None else min(self.truth.steps, until_ms // self.truth.step_ms)
        while self.engine.step_at < last:
            self.step()
        return self.trace

    def step(self) -> None:
        at, went = self.engine.step_at, self._carry_state()
        seen = self.engine.step()
        self.monitor.see(seen)
        self._busy = seen.link_bytes
        self._note(at, seen.link_bytes + went + self.monitor.paid(), seen)
        self._go_on()
        if self.now % self.rules.round_ms == 0:
            self.kernel.due(ADAPTATION, self.name)
            self.kernel.settle(self.now)
            if self._change is None:
                self.monitor.begin()

    # ---- what is seen and done

    def _see(self, now: WallMs) -> AreaView | None:
        bandwidth = self.monitor.measure_links(int(now), self.rules.round_ms)
        known = self.truth.area
        age = self.monitor.links.age_ms(int(now))
        links = Links(known.links.latency_ms, bandwidth.copy(), known.links.usd_per_gb, age)
        up = self.truth.up[min(self.engine.step_at, self.truth.steps) - 1]
        sites = tuple(Site(s.name, s.slots if up[n] else 0) for n, s in enumerate(known.sites))
        return AreaView(
            now,
            self.name,
            Area(sites, links),
            self.engine.plan,
            self.engine.deployed,
            self.monitor.rates(),
            alternatives=tuple(plan for plan in self.plans if plan.name != self.engine.plan.name),
            changing=self._change is not None,
            changed_at=self._changed_at,
            past=self._past,
            degrading=self.engine.drop_after is not None,
            may_degrade=self.rules.may_degrade,
        )

    def _act(self, decided: AdaptationDecision, now: WallMs) -> str:
        if isinstance(decided, Keep):
            return "nothing to do"
        if isinstance(decided, Degrade):
            late = decided.later_than_ms
            self.engine.drop_after = None if late is None else max(1, late // self.truth.step_ms)
            return "nothing is dropped any more" if late is None else f"rows later than {late} ms are dropped"
        if self._change is not None:
            return "a change is under way already"
        stage = "" if isinstance(decided, Replan) else decided.stage
        before, after = (), ()  # type: tuple[int, ...], tuple[int, ...]
        if stage:
            place = self.engine.plan.index(stage)
            before, after = self.engine.deployed.tasks[place], decided.deployed.tasks[place]
        self._past = (*self._past, PastChange(now, stage, technique_of(decided), before, after))[-KEPT:]
        self._change = begun(decided, self.engine.plan, self.truth.area, int(now))
        self._doing = technique_of(decided), stage, decided.expect.takes_s if decided.expect else 0.0
        self._restarts_ms = self._change.restart_ms
        return f"begun, {self._change.state_bytes / 1e6:.1f} MB of state move"

    def _carry_state(self) -> Floats:
        """State on its way, if a change has begun; what it takes of links is not there for rows."""
        nothing = np.zeros_like(self.engine.slow)
        self.engine.slow = nothing
        change = self._change
        if change is None or self.now < change.starts_ms:
            return nothing
        self.engine.paused = change.stages
        bandwidth = self.truth.bandwidth(self.engine.step_at)
        went = change.carry(bandwidth, self._busy, self.engine.dt)
        self.engine.slow = went / self.engine.dt
        return went

    def _go_on(self) -> None:
        """A change is over when its state has come and its stages have started."""
        change = self._change
        if change is None or self.now <= change.starts_ms or not change.moved:
            return
        self._restarts_ms -= self.truth.step_ms
        if self._restarts_ms > 0:
            return
        self.engine.redeploy(change.plan, change.deployed)
        self.engine.paused = frozenset()
        technique, stage, expected = self._doing
        self.trace.changes.append(
            CarriedOut(technique, stage, change.began_ms, int(self.now), change.state_bytes / 1e6, expected)
        )  # fmt: skip
        self._change, self._changed_at = None, self.now
        self.monitor.begin()

    def _note(self, at: int, wan: Floats, seen: StepSeen) -> None:
        engine, links = self.engine, self.truth.area.links
        crossing = wan.copy()
        np.fill_diagonal(crossing, 0.0)
        plan, deployed = engine.plan, engine.deployed
        delay = self.trace.results(seen.results, path_ms(plan, deployed, links.latency_ms))
        sent = {name: rate * engine.dt for name, rate in zip(self.truth.sources, self.truth.sent(at).tolist(), strict=True)}
        rates = planned_rates(plan, sent)
        done = {
            s.name: (seen.processed.get(s.name, 0), float(rates.into[p]))
            for p, s in enumerate(plan.stages)
            if s.kind != "source"
        }
        counted = [p for p, s in enumerate(plan.stages) if s.kind != "source"]
        self.trace.seconds.append(
            AreaSecond(
                at * self.truth.step_ms, int(seen.results.sum()), done, delay, int(deployed.table[counted].sum()),
                float(crossing.sum()), usd_an_hour(crossing, links.usd_per_gb) / 3600, self._change is not None,
            )
        )  # fmt: skip
        self.trace.lost = sum(tally.lost for tally in engine.tallies.values())
