"""A pipeline over many sites, a step at a time: rows are sent, cross links, wait, and are processed. All rows are counted.

For every stage holds, after each step and whatever changes: rows sent to it = processed + waiting + lost, and lost only
while dropping is allowed. A stage that aggregates sends on what is complete: rows that came into being before everything
that still waits for it, or for a stage before it.
"""

from dataclasses import dataclass, field

import numpy as np

from headway.estimate.stream_rates import shares
from headway.model.arrays import Floats
from headway.model.geo import Deployment, GeoPlan, Stage
from headway.sim.wan.cohorts import Rows, oldest, shared, split, thinned
from headway.sim.wan.flows import FlowId, Flows
from headway.sim.wan.succession import heirs_of, levels
from headway.sim.wan.truth import AreaTruth

AGGREGATES = ("partial", "combine")


@dataclass(slots=True)
class StageTally:
    """Rows of one stage, in all."""

    sent_to: int = 0
    arrived: int = 0
    processed: int = 0
    emitted: int = 0
    lost: int = 0


@dataclass(slots=True)
class StepSeen:
    """What one step did."""

    link_bytes: Floats
    held_up: Floats  # 1 where a link had more to carry than it could
    results: Rows = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # at sinks, by age in steps
    processed: dict[str, int] = field(default_factory=dict)  # by stage


class WanEngine:
    """Flows, tasks and links of one pipeline."""

    def __init__(self, plan: GeoPlan, deployed: Deployment, truth: AreaTruth) -> None:
        self.truth, self.step_at = truth, 0
        self.flows = Flows(truth.steps)
        self.tallies: dict[str, StageTally] = {}
        self.paused: frozenset[str] = frozenset()
        self.drop_after: int | None = None  # steps
        self.slow = np.zeros((len(truth.area), len(truth.area)))  # bytes a second that other things take of links
        self._processed: dict[str, Rows] = {}  # by birth, in all
        self._emitted: dict[str, Rows] = {}
        self._complete: dict[str, int] = {}  # births before this have been sent on
        self._carry: dict[tuple[str, int], float] = {}
        self._sent_carry = np.zeros(len(truth.sources))
        self.plan, self.deployed = plan, deployed
        self._deploy(plan, deployed)

    @property
    def dt(self) -> float:
        return self.truth.step_ms / 1000

    def redeploy(self, plan: GeoPlan, deployed: Deployment) -> None:
        """From now on so. Rows that waited for a stage that is no more go to the one that has its rows now."""
        heirs = heirs_of(self.plan, plan)
        for stage in self.plan.stages:
            if stage.kind in AGGREGATES and stage.name not in plan.names:
                self._flush(stage)
        before = {name: self.flows.waiting(name) for name in self.tallies}
        self._deploy(plan, deployed)
        self.flows.rerouted(heirs, self._parts)
        for name in set(before) | set(self.tallies):
            tally = self.tallies.setdefault(name, StageTally())
            tally.sent_to += self.flows.waiting(name) - before.get(name, 0)

    def step(self) -> StepSeen:
        """The next step."""
        at = self.step_at
        self._send(at)
        low = min(self.flows.oldest(at), *(self._complete[s.name] for s in self.plan.stages))
        if self.drop_after is not None:
            self._drop(at - self.drop_after, low)
        limits = self._limits(at)
        m = len(self.truth.area)
        seen = StepSeen(np.zeros((m, m)), np.zeros((m, m)))
        window = slice(low, at + 1)
        frontier = dict.fromkeys(self.truth.sources, at + 1)
        for level in self._levels:
            for name in level:
                self._transfer(name, window, limits, seen)
                by_site = self._process(name, window, at)
                waits = self.flows.oldest_for(name, min(self._complete[name], at), at)
                frontier[name] = min(waits, *(frontier[n] for n in self._stage[name][0].inputs))
                self._emit(name, by_site, window, frontier[name], seen)
        self.step_at += 1
        return seen

    def lawful(self) -> bool:
        """Whether the law of this file holds."""
        return all(
            t.sent_to == t.processed + self.flows.waiting(name) + t.lost
            for name, t in self.tallies.items()
            if name not in self.truth.sources
        )

    # ---- what is deployed

    def _deploy(self, plan: GeoPlan, deployed: Deployment) -> None:
        self.plan, self.deployed = plan, deployed
        self._parts = {s.name: shares(row) for s, row in zip(plan.stages, deployed.table, strict=True)}
        self._readers = {s.name: [o.name for o in plan.stages if s.name in o.inputs] for s in plan.stages}
        self._levels = levels(plan)
        self._stage = {s.name: (s, place) for place, s in enumerate(plan.stages)}
        for stage in plan.stages:
            self.tallies.setdefault(stage.name, StageTally())
            self._processed.setdefault(stage.name, np.zeros(self.truth.steps, dtype=np.int64))
            self._emitted.setdefault(stage.name, np.zeros(self.truth.steps, dtype=np.int64))
            self._complete.setdefault(stage.name, 0)

    # ---- a step

    def _send(self, at: int) -> None:
        exact = self.truth.sent(at) * self.dt + self._sent_carry
        whole = np.floor(exact + 1e-9).astype(np.int64)
        self._sent_carry = exact - whole
        self.flows.before = self.flows.fresh.copy()
        self.flows.fresh[:] = 0
        for name, rows in zip(self.truth.sources, whole.tolist(), strict=True):
            if name not in self._stage:
                continue
            born = np.zeros(1, dtype=np.int64) + rows
            self.tallies[name].emitted += rows
            self._hand_on(name, self._parts[name], born, slice(at, at + 1))

    def _hand_on(self, sender: str, parts: Floats, rows: Rows, window: slice, by_site: Rows | None = None) -> None:
        """Rows by birth that a stage has made, to every stage that reads it: from each of its sites to each of theirs."""
        total = int(rows.sum())
        if not total:
            return
        stage, _ = self._stage[sender]
        sites = np.flatnonzero(parts if by_site is None else by_site.sum(axis=1))
        made = split(rows, parts[sites]) if by_site is None else by_site[sites]
        for reader in self._readers[sender]:
            self.tallies[reader].sent_to += total
            to = self._parts[reader]
            targets = np.flatnonzero(to)
            for site, of_site in zip(sites.tolist(), made, strict=True):
                for target, some in zip(targets.tolist(), split(of_site, to[targets]), strict=True):
                    place = self.flows.row(FlowId(sender, site, reader, target, stage.row_bytes))
                    self.flows.wire[place, window] += some
                    self.flows.fresh[place] += some.sum()

    def _drop(self, before: int, low: int) -> None:
        """Rows that are too late, wherever they wait."""
        if before <= low:
            return
        late = slice(low, before)
        lost = self.flows.wire[:, late].sum(axis=1) + self.flows.here[:, late].sum(axis=1)
        for flow, rows in zip(self.flows.ids, lost.tolist(), strict=True):
            self.tallies[flow.stage].lost += rows
        self.flows.wire[:, late] = 0
        self.flows.here[:, late] = 0

    def _limits(self, at: int) -> tuple[Floats, Floats]:
        """Bytes that each flow may send in this step: its share of its link, by what it has to send. And of each link."""
        return np.clip(self.truth.bandwidth(at) - self.slow, 0.0, None) * self.dt, self.flows.demand(len(self.truth.area))

    def _transfer(self, name: str, window: slice, limits: tuple[Floats, Floats], seen: StepSeen) -> None:
        if name in self.paused:
            return
        flows, (room, demand) = self.flows, limits
        places = flows.to_stage.get(name)
        if not places:
            return
        waiting = flows.wire[places, window]
        most = np.empty(len(places), dtype=np.int64)
        for n, place in enumerate(places):
            flow, wanted = flows.ids[place], int(waiting[n].sum())
            link = (flow.source, flow.target)
            if flow.source == flow.target or wanted == 0:
                most[n] = wanted
                continue
            # As much of the link as this flow has of all that wants to cross it, and at least what the others leave.
            share = min(1.0, max(wanted, 1) * flow.row_bytes / max(demand[link], 1e-9))
            left = room[link] - seen.link_bytes[link]
            can = left if demand[link] <= room[link] else min(left, share * room[link])
            exact = can / flow.row_bytes + self._carry.get((name, place), 0.0)
            most[n] = min(wanted, max(0, int(exact)))
            self._carry[name, place] = min(1.0, exact - int(exact)) if most[n] < wanted else 0.0
            seen.link_bytes[link] += most[n] * flow.row_bytes
            seen.held_up[link] = max(seen.held_up[link], float(most[n] < wanted))
        moved = oldest(waiting, most)
        flows.wire[places, window] -= moved
        flows.here[places, window] += moved
        self.tallies[name].arrived += int(moved.sum())

    def _process(self, name: str, window: slice, at: int) -> dict[int, Rows]:
        """What the tasks of each site have processed in this step, by birth."""
        by_site: dict[int, Rows] = {}
        if name in self.paused:
            return by_site
        stage, place = self._stage[name]
        flows, up = self.flows, self.truth.up[at]
        for site, tasks in enumerate(self.deployed.tasks[place]):
            places = [p for p in flows.to_stage.get(name, ()) if flows.ids[p].target == site]
            if not tasks or not up[site] or not places:
                continue
            waiting = flows.here[places, window]
            power = int(tasks * stage.task_per_s * self.dt)
            taken = oldest(waiting, shared(power, waiting.sum(axis=1)))
            if taken.any():
                flows.here[places, window] -= taken
                by_site[site] = taken.sum(axis=0)
        return by_site

    def _emit(self, name: str, by_site: dict[int, Rows], window: slice, frontier: int, seen: StepSeen) -> None:
        """What a stage sends on: at once, or if it aggregates, what is complete."""
        stage, _ = self._stage[name]
        if by_site:
            processed = np.sum(list(by_site.values()), axis=0)
            self._processed[name][window] += processed
            self.tallies[name].processed += int(processed.sum())
            seen.processed[name] = int(processed.sum())
            if stage.kind == "sink":
                seen.results = _added(seen.results, processed[::-1])  # the newest was born in this step
        if name in self.paused or not (by_site or stage.kind in AGGREGATES):
            return
        cap = None if stage.most_per_s is None else _cap(stage.most_per_s * self.dt, window)
        out = thinned(self._processed[name][window], stage.selectivity, cap) - self._emitted[name][window]
        if stage.kind in AGGREGATES:
            out[max(0, frontier - window.start) :] = 0
        self._complete[name] = frontier
        self._emitted[name][window] += out
        self.tallies[name].emitted += int(out.sum())
        if out.any() and self._readers[name]:
            self._hand_on(name, self._parts[name], out, window, self._where(name, by_site, out))

    def _flush(self, stage: Stage) -> None:
        """A stage that ends says what it has, complete or not: parts of a window are brought together further on."""
        window = slice(0, self.step_at)
        cap = None if stage.most_per_s is None else _cap(stage.most_per_s * self.dt, window)
        out = thinned(self._processed[stage.name][window], stage.selectivity, cap) - self._emitted[stage.name][window]
        self._emitted[stage.name][window] += out
        self.tallies[stage.name].emitted += int(out.sum())
        self._hand_on(stage.name, self._parts[stage.name], out, window)

    def _where(self, name: str, by_site: dict[int, Rows], out: Rows) -> Rows:
        """At which sites the rows come out: where they were processed, those of an aggregate at all of its sites."""
        table = np.zeros((len(self.truth.area), len(out)), dtype=np.int64)
        if by_site and self._stage[name][0].kind not in AGGREGATES:
            sites = np.array(list(by_site))
            weights = np.array([by_site[s].sum() for s in sites.tolist()], dtype=float)
        else:
            sites = np.flatnonzero(self._parts[name])
            weights = self._parts[name][sites]
        table[sites] = split(out, weights / weights.sum())
        return table


def _added(one: Rows, two: Rows) -> Rows:
    length = max(len(one), len(two))
    out = np.zeros(length, dtype=np.int64)
    out[: len(one)] += one
    out[: len(two)] += two
    return out


def _cap(per_step: float, window: slice) -> Rows:
    """Rows out at most for each step of birth, whole ones."""
    steps = np.arange(window.start, window.stop + 1)
    return np.diff(np.floor(steps * per_step + 1e-9)).astype(np.int64)
