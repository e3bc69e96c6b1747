"""Moving queries that run, again and again, between real nodes: what it costs, and whether every row is there."""

import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from headway.errors import HeadwayError
from headway.fleet.orchestrator.wire import MoveProgress
from headway_lab.experiments.moves.live_fleet import FleetOnTrial, fleet_on_trial
from headway_lab.experiments.moves.live_load import LEAST_PATIENCE_S, MoveLoad, MoveSink, WindowSeen
from headway_lab.harness.children import work_folder
from headway_lab.harness.setting import Say
from headway_lab.workloads.wall_clock import now_ms

EXPERIMENT = "moves-live"
SETTLED = 8  # windows of a query, until it counts as running
WARM_LOOK_S = 10  # so long windows must come no later than before, until the JVMs count as warm
WARMER = 0.8  # and by so much earlier they come while they are still being compiled
AFTER = 3  # batches on the target before the next move
AFTER_MS = 3_000  # for so long after its end, windows may be late because of a move


@dataclass(frozen=True, slots=True)
class LiveMove:
    """One move or upgrade, as it was told of, and when."""

    query: str
    target: str
    wanted: str  # how it should end
    asked_ms: int
    ended_ms: int
    told: MoveProgress

    @property
    def well(self) -> bool:
        return self.told.state == self.wanted


@dataclass(frozen=True, slots=True)
class JournalBatch:
    """A batch, by the journal of its node."""

    node: str
    query: str
    number: int
    began_ms: int
    took_ms: int


@dataclass
class MovesSeen:
    """All that was seen, to make figures of."""

    load: MoveLoad
    quiet: list[tuple[int, int]] = field(default_factory=list)  # from when to when nothing moved, before and after
    moves: list[LiveMove] = field(default_factory=list)
    windows: list[WindowSeen] = field(default_factory=list)
    batches: list[JournalBatch] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    state_rows: int = 0  # of the first query, in the end


@dataclass(frozen=True, slots=True)
class MovePlan:
    """What is done, one after the other."""

    moves: int = 100
    upgrades: int = 0  # every second one fails
    quiet_s: int = 20  # before the moves, and half as long after them
    warm_s: int = 60  # at most
    memory: str = "512m"


def move_often(
    load: MoveLoad, plan: MovePlan, say: Say, step: Callable[[str], None], folder: Path | None = None
) -> MovesSeen:
    """Start a fleet, move, end it, and compare what came out with the truth."""
    with work_folder("headway-moves-", folder) as work:
        sink, seen = MoveSink(work / "sink.db", load), MovesSeen(load)
        with fleet_on_trial(work, load.nodes, plan.memory, lambda text: say(text, 0.0)) as fleet:
            step("until all queries run")
            for number, name in enumerate(load.names):
                fleet.submit(name, load.pipeline(sink.path), f"n{1 + number % load.nodes}")
            for name in load.names:
                fleet.until(lambda name=name: sink.ends(name) >= SETTLED, f"{name} has put out {SETTLED} windows")  # type: ignore[misc]
            step("until windows come no earlier any more")
            _warm(load, sink, plan.warm_s)
            step("while nothing moves")
            _quiet(seen, plan.quiet_s)
            try:
                _act(fleet, seen, sink, plan, step)
            except HeadwayError as error:  # what was seen until then is worth having, and is not called exact
                seen.wrong.append(str(error))
            step("while nothing moves any more")
            _quiet(seen, plan.quiet_s // 2)
            step("stopping")
            for name in load.names:
                try:
                    fleet.stop(name)
                except HeadwayError as error:
                    seen.wrong.append(str(error))
            seen.batches = [cost for journal in fleet.journals("n") for cost in _costs(journal)]
            seen.state_rows = max(_state(journal, load.names[0]) for journal in fleet.journals("n"))
        seen.windows = sink.windows()
        seen.wrong += [fault for name in load.names for fault in sink.faults(name)]
        seen.wrong += [f"{move.query}: {move.told.line}" for move in seen.moves if not move.well]
        if any("bad" in version for name in load.names for version in sink.versions(name)):
            seen.wrong.append("a version that fails has written")
        return seen


def _act(fleet: FleetOnTrial, seen: MovesSeen, sink: MoveSink, plan: MovePlan, step: Callable[[str], None]) -> None:
    for number in range(plan.moves):
        step(f"move {number + 1} of {plan.moves}{_last(seen)}")
        seen.moves.append(_moved(fleet, seen.load, number))
        _settle(fleet, sink, seen.moves[-1])
    for number in range(plan.upgrades):
        step(f"upgrade {number + 1} of {plan.upgrades}{_last(seen)}")
        seen.moves.append(_upgraded(fleet, seen.load, sink, number))
        _settle(fleet, sink, seen.moves[-1])


def _warm(load: MoveLoad, sink: MoveSink, most_s: int) -> None:
    """A JVM that has just begun is slow: what is held against its windows would never be too late."""
    end, before = time.monotonic() + most_s, dict[str, int]()
    while time.monotonic() + WARM_LOOK_S <= end:
        since = now_ms()
        time.sleep(WARM_LOOK_S)
        worst = {name: max((w.late_ms for w in sink.windows(since) if w.query == name), default=0) for name in load.names}
        if before and not gets_warmer(before, worst):
            return
        before = worst


def gets_warmer(before: Mapping[str, int], now: Mapping[str, int]) -> bool:
    """Whether some query's latest window came clearly earlier than its latest a while ago, or none came at all."""
    return any(now[name] <= WARMER * late for name, late in before.items())


def _quiet(seen: MovesSeen, lasts_s: int) -> None:
    begun = now_ms()
    time.sleep(lasts_s)
    seen.quiet.append((begun, now_ms()))


def _last(seen: MovesSeen) -> str:
    if not seen.moves or seen.moves[-1].told.outage_ms is None:
        return ""
    return f", the last was out of service for {seen.moves[-1].told.outage_ms} ms"


def _moved(fleet: FleetOnTrial, load: MoveLoad, number: int) -> LiveMove:
    query = load.moved[number % len(load.moved)]
    source = fleet.node_of(query)
    target = f"n{1 + int(source.removeprefix('n')) % load.nodes}"
    asked = now_ms()
    told = fleet.move(query, target)
    return LiveMove(query, target, "done", asked, now_ms(), told)


def _upgraded(fleet: FleetOnTrial, load: MoveLoad, sink: MoveSink, number: int) -> LiveMove:
    """To another version of the same, which works, or does not."""
    query, fails = load.moved[number // 2 % len(load.moved)], bool(number % 2)
    text = load.pipeline(sink.path, f"bad {number}" if fails else f"good {number}", fails)
    asked = now_ms()
    told = fleet.upgrade(query, text)
    return LiveMove(query, "", "home" if fails else "done", asked, now_ms(), told)


def _settle(fleet: FleetOnTrial, sink: MoveSink, last: LiveMove) -> None:
    """Until it has run for some batches where it is now."""
    fleet.node_of(last.query)
    epoch = sink.epoch(last.query)
    fleet.until(lambda: sink.batches(last.query, epoch) >= AFTER, f"{last.query} has put out {AFTER} batches since")
    time.sleep(max(0.0, (last.ended_ms + AFTER_MS - now_ms()) / 1000))


def _costs(journal: Path) -> list[JournalBatch]:
    text = "select query, batch, began, took_ms from batches where batch is not null order by id"
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as db:
        return [JournalBatch(journal.parent.name, *row) for row in db.execute(text)]


def _state(journal: Path, query: str) -> int:
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as db:
        return int(db.execute("select coalesce(max(state_rows), 0) from batches where query = ?", (query,)).fetchone()[0])


def patience_ms(load: MoveLoad) -> int:
    """Until the first windows of all queries come out."""
    return 1_000 * max(LEAST_PATIENCE_S, *(load.patience_s(name) for name in load.names))
