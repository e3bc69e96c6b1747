"""The plainest controller that keeps the contract: rows alone move the watermark, and whoever asks is let through.

It shows that the laws can be kept; with one of its `faults` it shows that they notice.
"""

from dataclasses import dataclass, field
from typing import Any

from headway.model.message import Asked, BatchSeen, Gone, InputSpec, Message, QuerySpec, Started
from headway.model.offset import ControlOffset
from headway.model.status import InputStatus, QueryStatus, RuntimeStatus
from headway.model.time import WallMs
from headway.policy.load import order_policy
from headway_lab.experiments.scripts.virtual.world import ScriptWorld

PACE_MS = 300
FAR_MS = 200_000_000_000_000  # a control row ten years after the year 9999 is no timestamp any more


@dataclass
class PlainInput:
    spec: InputSpec
    newest: int | None = None


@dataclass
class PlainQuery:
    spec: QuerySpec
    inputs: dict[str, PlainInput]
    waiting: ControlOffset | None = None
    granted_at: int | None = None
    had_rows: bool = True
    fresh: bool = True  # a batch was told of since it last asked
    swept: int = 0
    told: set[int] = field(default_factory=set)  # batches


@dataclass
class Plain:
    world: ScriptWorld
    faults: tuple[str, ...] = ()
    queries: dict[str, PlainQuery] = field(default_factory=dict)
    counts: dict[str, dict[str, InputStatus]] = field(default_factory=dict)
    policy: Any = None

    def __post_init__(self) -> None:
        self.policy = order_policy("klink")

    def take(self, message: Message) -> None:
        match message:
            case Started(spec=spec):
                self.queries[spec.name] = PlainQuery(spec, {i.name: PlainInput(i) for i in spec.inputs})
            case Gone(query=name):
                self.queries.pop(name, None)
            case Asked(query=name, start=start):
                query = self.queries[name]
                query.waiting, query.had_rows, query.fresh = start, query.fresh and query.had_rows, False
            case BatchSeen(query=name):
                self._saw(self.queries.get(name), message)
            case _:
                pass

    def _saw(self, query: PlainQuery | None, seen: BatchSeen) -> None:
        if query is None or (seen.batch in query.told and "counts repeats" not in self.faults):
            return
        refused_below = query.swept if seen.batch - 1 in query.told else 0
        query.told.add(seen.batch)
        query.had_rows, query.fresh, query.swept = any(i.rows for i in seen.inputs), True, seen.watermark or 0
        for told in seen.inputs:
            mine = query.inputs[told.name]
            if told.foremost is not None:
                mine.newest = max(mine.newest or 0, told.foremost)
            late = round(sum(rows for moment, rows in told.old if moment < refused_below))
            now = InputStatus(told.name, late, told.timeless, told.future)
            of_query = self.counts.setdefault(seen.query, {})
            of_query[told.name] = now.plus(of_query.get(told.name, InputStatus(told.name)))

    def rebuild(self, trouble: str) -> None:
        """Forget all but who waits, and what was counted."""
        for query in self.queries.values():
            query.granted_at, query.told, query.swept = None, set(), 0
            for mine in query.inputs.values():
                mine.newest = None

    def status(self) -> RuntimeStatus:
        return RuntimeStatus(self.world.clock.now(), "plain", queries=tuple(
            QueryStatus(name, "at the gate", self.world.clock.now(), inputs=tuple(found.values()))
            for name, found in self.counts.items()
        ))  # fmt: skip

    def turn(self) -> WallMs:
        now = self.world.clock.true_ms
        for name, query in list(self.queries.items()):
            if query.waiting is None or (query.granted_at is not None and now - query.granted_at < self._pace(query)):
                continue
            start, query.waiting, query.granted_at = query.waiting, None, now
            self.world.release(name, self._offset(query, start, now))
        return WallMs(self.world.clock.now() + 10)

    def _pace(self, query: PlainQuery) -> int:
        if "sleeps" in self.faults:
            return 60_000
        return 0 if query.had_rows or query.spec.bounded else PACE_MS

    def _offset(self, query: PlainQuery, start: ControlOffset, now: int) -> ControlOffset:
        limits = [None if i.newest is None else i.newest - i.spec.patience_ms for i in query.inputs.values()]
        if "by the clock" in self.faults:
            limits = [now - i.spec.patience_ms for i in query.inputs.values()]
        if "the foremost decides" in self.faults:
            limits = [max((x for x in limits if x is not None), default=None)]
        if "announces ahead" in self.faults and None not in limits:
            limits = [x + 5_000 for x in limits if x is not None]
        ripe = 0 if None in limits else query.spec.deadlines.upto(min(FAR_MS, *(x for x in limits if x is not None)))
        if "goes back" in self.faults and start.seq == 5:
            return ControlOffset(6, start.wm - 1_000, start.live)
        if ripe <= start.wm or "announces nothing" in self.faults:
            # After a restart Spark does not sweep by itself what was announced before.
            return start.next(start.wm, start.live) if start.wm > query.swept and not query.spec.bounded else start
        return start.next(ripe, live=False)
