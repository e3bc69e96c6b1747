"""Prediction rings: what is disturbed most moves to where it is disturbed least (Buddhika et al., sections 4.1 and 4.2)."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from headway.errors import SettingError
from headway.estimate.interference import Interference
from headway.estimate.others import AddedOthers, MultipliedOthers, Others, Room
from headway.estimate.rings import FLOOR, Normalising, align, stacked
from headway.model.arrays import Floats, Places
from headway.model.placement import (
    ExpectedRelief,
    FleetView,
    HostView,
    MoveRequest,
    PlacementDecision,
    PlacementMemory,
    RequestDecision,
    RequestMemory,
    RequestMove,
    Stay,
)
from headway.model.ring import Ring, RingShape
from headway.policy.placement.asking import check_times
from headway.policy.placement.round import Round, start_in_turn

# Where the scores of all nodes vary by so much of their mean, or more, a move has to gain the base threshold times
# `steepest` to this power.
STEPS = ((0.5, 0.0), (0.25, 1 / 3), (0.1, 2 / 3), (0.0, 1.0))
SMALLEST = 1e-12  # of a score: one that is less is none


@dataclass(frozen=True, slots=True)
class PredictionRings:
    """Each node asks to be rid of the computation with the highest interference score; it goes where its score is lowest.

    A node asks once the score has been above `threshold` in so many rounds in a row. The move is granted if it takes away a
    large enough share of the score: `reduction` where nodes differ much, and up to `steepest` times that where they hardly
    do. Both nodes then cool down; a computation that is refused rests.

    What other programs use is added to the rings. As published, it is `others="multiplied"` with `others_in="innermost"`.
    """

    n: int = 3  # the difference amplifier
    cpu: float = 0.666
    bandwidth: float = 0.70
    threshold: float = 0.001  # score; see the page on prediction rings for what it is a score of
    rounds: int = 3
    reduction: float = 0.05  # the base threshold
    cool_down_ms: int = 30_000
    rest_ms: int = 60_000
    floor: float = FLOOR  # of "1 - own share", where others are multiplied
    initial: Literal["least-interference", "round-robin"] = "least-interference"
    others: Literal["added", "multiplied"] = "added"
    others_in: Literal["all-rings", "innermost"] = "all-rings"
    steepest: float = 2.0
    foresees: ClassVar[bool] = False

    def __post_init__(self) -> None:
        Interference(self.n, self.cpu, self.bandwidth)
        Normalising(self.floor)
        check_times(self.rounds, self.cool_down_ms, self.rest_ms)
        if not self.threshold >= 0:
            raise SettingError("placement.threshold", self.threshold, "a score of 0 or more")
        if not 0 <= self.reduction < 1:
            raise SettingError("placement.reduction", self.reduction, "a share from 0 to 1, e.g. 0.05")
        if not self.steepest >= 1:
            raise SettingError("placement.steepest", self.steepest, "1 or more times the reduction, e.g. 2")
        for name, known in (
            ("initial", ("least-interference", "round-robin")),
            ("others", ("added", "multiplied")),
            ("others_in", ("all-rings", "innermost")),
        ):
            if getattr(self, name) not in known:
                raise SettingError(f"placement.{name}", getattr(self, name), " or ".join(known))

    def request(self, seen: HostView, memory: RequestMemory) -> tuple[RequestDecision, RequestMemory]:
        if seen.node.moving or seen.node.cooling_until > seen.now:
            return Stay(f"{seen.node.name} takes part in a move, or has just done so"), RequestMemory()
        names = seen.computations.names
        if not names:
            return Stay("nothing runs here"), RequestMemory()
        scores = self.own_scores(seen)
        rows = np.flatnonzero(scores > self.threshold).tolist()
        above = {names[row]: memory.above.get(names[row], 0) + 1 for row in rows}
        ripe = [
            row for row in rows if above[names[row]] >= self.rounds and seen.resting.get(names[row], seen.now) <= seen.now
        ]
        if not ripe:
            highest = float(scores.max())
            over = f", {len(above)} above {self.threshold:g} for too short a time or at rest" if above else ""
            return Stay(f"the highest interference is {highest:.3g}{over}"), RequestMemory(above)
        row = min(ripe, key=lambda row: (-float(scores[row]), names[row]))
        request = MoveRequest(names[row], seen.node.name, seen.computations.rings[row], float(scores[row]))
        because = f"interference {request.score:.3g}, above {self.threshold:g} for {above[names[row]]} rounds"
        return RequestMove(request, because), RequestMemory(above)

    def own_scores(self, seen: HostView) -> Floats:
        """How much each computation of a node is disturbed by the others there: I_c, as the node itself sees it."""
        rings, whole = align(seen.computations.rings, seen.now), align(seen.node.ring, seen.now).values
        busy = np.flatnonzero(rings.values.any(axis=1))  # what uses nothing is disturbed by nothing
        mine, scores = rings.values[busy], np.zeros(len(rings))
        without = np.maximum(whole - mine, 0.0)
        scores[busy] = self._with_others.of_node(seen.node, rings.shape, whole[None], without, mine)
        return scores

    def scores(self, seen: FleetView, rings: list[Ring], shape: RingShape, added: Floats | float = 0.0) -> Floats:
        """How much each computation (row) would be disturbed on each node (column): I_n. `added` is load to come."""
        own = stacked([node.ring for node in seen.nodes], shape, seen.now).values
        return self._with_others.of_fleet(seen.nodes, shape, own, added, stacked(rings, shape, seen.now).values)

    def home_scores(self, seen: FleetView, requests: list[MoveRequest], shape: RingShape) -> Floats:
        """How much the queries that ask are disturbed where they are: I_c, measured as on all other nodes."""
        homes = _homes(seen, requests)
        own = stacked([node.ring for node in seen.nodes], shape, seen.now).values
        rings = stacked([request.ring for request in requests], shape, seen.now).values
        found = self._with_others.at_home(seen.nodes, shape, own, homes, rings)
        return np.array([request.score for request in requests]) if found is None else found

    def room(self, seen: FleetView, requests: list[MoveRequest], shape: RingShape) -> Room:
        """Where each of the queries that ask may go at all."""
        own = stacked([node.ring for node in seen.nodes], shape, seen.now).values
        rings = stacked([request.ring for request in requests], shape, seen.now).values
        return self._with_others.room(seen.nodes, shape, own, _homes(seen, requests), rings)

    def decide(self, seen: FleetView, memory: PlacementMemory) -> tuple[PlacementDecision, PlacementMemory]:
        current = Round(seen, memory, self.cool_down_ms, self.rest_ms)
        if self.initial == "round-robin":
            turn = start_in_turn(current, memory.turn)
        else:
            turn = memory.turn
            self._start_least_disturbed(current)
        self._answer(current)
        return current.end(turn)

    @property
    def _with_others(self) -> Others:
        if self.others == "added":
            return AddedOthers(self.n, self.cpu, self.bandwidth, self.others_in == "all-rings")
        score = Interference(self.n, self.cpu, self.bandwidth)
        return MultipliedOthers(score, Normalising(self.floor), self.others_in == "all-rings")

    def _answer(self, current: Round) -> None:
        """Every request, against the scores of all nodes. A move takes both its nodes out of the round, so scores hold."""
        requests = current.requests()
        if not requests:
            return
        nodes = tuple(current.nodes)
        at = {node.name: column for column, node in enumerate(nodes)}
        seen, asked = replace(current.seen, nodes=nodes), [request for request, _ in requests]
        shape = asked[0].ring.shape
        table = self.scores(seen, [request.ring for request in asked], shape)
        here, room = self.home_scores(seen, asked, shape), self.room(seen, asked, shape)
        free = np.array([node.ready and current.free(node) for node in nodes])
        for row, (request, source) in enumerate(requests):
            home, scores = at[source.name], table[row]
            others = free.copy()
            others[home] = False
            able = others & room.allowed[row]
            if not current.free(source):
                current.postpone(request.query, f"{source.name} takes part in a move, or has just done so")
            elif not others.any():
                current.postpone(request.query, "no other node is free")
            elif not able.any():
                current.refuse(request.query, "every free node would have more than it can carry")
            else:
                best = int(np.argmin(np.where(able, scores, np.inf)))
                scores[home] = here[row]
                relief = self._relief(scores, home, best, bool(room.relieves[row, best]))
                if self._judge(current, request, nodes[best].name, relief, float(here[row])):
                    free[[home, best]] = False

    def _judge(self, current: Round, request: MoveRequest, target: str, relief: ExpectedRelief, here: float) -> bool:
        of = f"{relief.reduction:.1%} of {here:.3g}, {relief.threshold:.0%} wanted"
        if relief.reduction > relief.threshold:
            current.move(request.query, request.node, target, f"takes away {of}", relief)
            return True
        current.refuse(request.query, f"{target}, the best, takes away {of}")
        return False

    def _relief(self, scores: Floats, home: int, best: int, relieves: bool) -> ExpectedRelief:
        """Delta I, and what it has to exceed: the less the nodes differ, the more.

        It need not exceed anything where a node has more than it can carry: what does not fit is delayed more and more.
        """
        here, there, mean = float(scores[home]), float(scores[best]), float(scores.mean())
        variation = float(scores.std()) / mean if mean > SMALLEST else 0.0
        times = self.steepest ** next(power for least, power in STEPS if variation >= least)
        wanted = 0.0 if relieves else min(1.0, self.reduction * times)
        return ExpectedRelief(there, (here - there) / here if here > SMALLEST else 0.0, wanted)

    def _start_least_disturbed(self, current: Round) -> None:
        """New queries, one after another: each node's ring has those that were given to it in this round."""
        nodes = tuple(current.nodes)
        ready = np.array([node.ready for node in nodes], dtype=bool)
        seen = replace(current.seen, nodes=nodes)
        added: Floats | None = None
        for newcomer in seen.newcomers:
            if not ready.any():
                current.postpone(newcomer.query, "no node takes queries")
                continue
            shape = nodes[0].ring.shape
            added = np.zeros((len(nodes), shape.size)) if added is None else added
            ring = newcomer.ring if newcomer.ring is not None else _usual(seen, shape)
            scores = self.scores(seen, [ring], shape, added)[0]
            best = int(np.argmin(np.where(ready, scores, np.inf)))
            added[best] += align(ring, seen.now).values
            guess = "" if newcomer.ring is not None else ", taken for a usual query"
            current.start(newcomer.query, nodes[best].name, f"least interference, {scores[best]:.3g}{guess}")


def _homes(seen: FleetView, requests: list[MoveRequest]) -> Places:
    at = {node.name: row for row, node in enumerate(seen.nodes)}
    return np.array([at[request.node] for request in requests], dtype=np.int64)


def _usual(seen: FleetView, shape: RingShape) -> Ring:
    """What a query uses on average; where none runs yet, some use, the same in all windows."""
    queries = sum(node.queries for node in seen.nodes)
    use = stacked([node.ring for node in seen.nodes], shape, seen.now).values.sum(axis=0)
    return Ring(shape, seen.now, use / queries if queries and use.any() else np.ones(shape.size))
