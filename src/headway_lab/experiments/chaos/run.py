"""The parent: one fault after the other, each until all queries have put out windows again; then all is compared."""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from headway.errors import HeadwayError
from headway.kafka.broker import Broker
from headway.kafka.broker import start as start_broker
from headway_lab.experiments.chaos import plan as plan_
from headway_lab.experiments.chaos.clock import ChildClock
from headway_lab.experiments.chaos.disks import disks
from headway_lab.experiments.chaos.faults import KINDS
from headway_lab.experiments.chaos.plan import ChaosPlan, from_kafka, keeps_late
from headway_lab.experiments.chaos.sender import Sender
from headway_lab.harness import children
from headway_lab.harness.file_sink import SinkTally, SinkWatch, Written, tally, tally_with_late, written
from headway_lab.harness.setting import Say
from headway_lab.workloads.wall_clock import now_ms
from headway_lab.workloads.ysb import AdPane

EXPERIMENT = "chaos"
START_LIMIT_S, STUCK_S = 300, 180
FINISH_S = 6
MODULE = "headway_lab.experiments.chaos.child"


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """One fault, and how all went on."""

    kind: str
    lasted_s: float
    recovered_s: float | None  # from its end until every query had put out a window that ended after it; None: stuck
    windows: int  # put out meanwhile


@dataclass(frozen=True)
class ChaosOutcome:
    """All faults, and what came out, compared with the truth."""

    happened: list[FaultRecord]
    tally: SinkTally
    late: int  # rows that are in side tables
    unkept: int  # late rows that were counted as not kept
    left_out: list[str]  # kinds that this machine cannot do

    @property
    def stuck(self) -> int:
        return sum(h.recovered_s is None for h in self.happened)

    @property
    def wrong(self) -> int:
        return self.tally.wrong + self.stuck


@dataclass
class ChaosRun:
    """A run with faults: the child, and the broker, clock and disks that faults are done to."""

    work: Path
    plan: ChaosPlan
    chance: random.Random
    say: Say
    listener: Listener
    broker: Broker | None = None
    clock: ChildClock | None = None
    mounted: bool = False
    child: children.Child | None = None
    line: Connection | None = None
    unkept: Counter[str] = field(default_factory=Counter)  # of children that are gone
    unkept_now: dict[str, int] = field(default_factory=dict)
    sinks: SinkWatch = field(init=False)

    def __post_init__(self) -> None:
        self.sinks = SinkWatch(self.work, self.plan.names)

    # ---- for faults

    def order(self, what: str, *args: Any) -> Any:
        assert self.line is not None, "there is a child"
        self.line.send((what, args))
        if not self.line.poll(START_LIMIT_S):
            raise HeadwayError(f"the child does not answer: {children.last_words(self.work)}")
        if isinstance(reply := self.line.recv(), Exception):
            raise reply
        return reply

    def signal(self, by: signal.Signals) -> None:
        assert self.child is not None, "there is a child"
        os.killpg(self.child.pid, by)

    def begin_again(self) -> None:
        self.end()
        self.child = children.begin(MODULE, self.work, env=None if self.clock is None else self.clock.env)
        self.listener._listener._socket.settimeout(START_LIMIT_S)  # type: ignore[attr-defined]
        self.line = self.listener.accept()
        try:
            if self.line.poll(START_LIMIT_S) and self.line.recv() == "running":
                return
        except EOFError:  # it has something to say about that
            with suppress(TimeoutExpired):
                self.child.wait(5)
        raise HeadwayError(f"the child did not get anywhere: {children.last_words(self.work)}")

    # ---- for the play

    def end(self) -> None:
        if self.child is not None:
            children.kill(self.child)
            self.unkept.update(self.unkept_now)
            self.unkept_now = {}
        if self.line is not None:
            self.line.close()
        self.child = self.line = None

    def fault(self, kind: str) -> FaultRecord:
        """Do it, and wait until every query goes on. One that does not is counted, and the driver started anew."""
        time.sleep(self.chance.uniform(0, 1))
        before, began = self.sinks.look(), time.monotonic()
        over = began
        try:
            KINDS[kind].do(self)
            over = time.monotonic()
            self._await_windows_after(now_ms(), STUCK_S, kind)
            recovered: float | None = time.monotonic() - over
            self.unkept_now = self.order("unkept")
        except (HeadwayError, OSError, EOFError) as error:
            recovered = None
            self._tell_stuck(kind, error)
            self.begin_again()
        return FaultRecord(kind, over - began, recovered, self.sinks.look() - before)

    def _await_windows_after(self, ms: int, limit_s: float, doing: str) -> None:
        end = time.monotonic() + limit_s
        while not self.sinks.all_after(ms):
            self.say(f"{doing}: waiting for windows", 0.0)
            if self.child is None or self.child.poll() is not None:
                raise HeadwayError(f"the child has ended: {children.last_words(self.work)}")
            if time.monotonic() > end:
                behind = [name for name, newest in self.sinks.newest.items() if newest <= ms]
                raise HeadwayError(f"no windows of {', '.join(behind)} for {limit_s:.0f} s")
            time.sleep(0.05)

    def _tell_stuck(self, kind: str, error: BaseException) -> None:
        try:
            standing = self.order("standing")
        except (HeadwayError, OSError, EOFError):
            standing = "the child does not answer"
        with (self.work / "stuck.log").open("a") as log:
            log.write(f"{time.strftime('%H:%M:%S')} {kind}: {error!r}; {standing}\n")

    def finish(self) -> int:
        """Until every window that ends by then is out, and what was late for it; then stop in good order."""
        until_ms = now_ms() + FINISH_S * 1000
        if self.clock is not None:
            self.clock.set(0)
        try:
            self._await_windows_after(until_ms + plan_.WINDOW_MS, STUCK_S, "the end")
            self.unkept_now = self.order("unkept")
            self.order("stop")
        except (HeadwayError, OSError, EOFError) as error:  # then windows are missing, which is told
            self._tell_stuck("the end", error)
        self.end()
        return until_ms


def chaos(
    faults: int, seed: int, kinds: Sequence[str], say: Say, happened: Callable[[int, FaultRecord | None], None],
    folder: Path | None = None, kafka: bool = True,
) -> ChaosOutcome:  # fmt: skip
    """`faults` of these kinds, one after the other, by this seed. `happened` hears of each, and first of none."""
    with children.work_folder("headway-chaos-", folder) as work, _prepared(work, seed, say, kafka) as play:
        can = {name: KINDS[name] for name in kinds if KINDS[name].needs(play)}
        if not can:
            raise HeadwayError("this machine can do none of these faults")
        play.begin_again()
        play._await_windows_after(now_ms(), START_LIMIT_S, "the first run")
        happened(0, None)
        found = []
        for number in range(faults):
            (kind,) = play.chance.choices(list(can), [k.share for k in can.values()])
            say(kind, 0.0)
            found.append(play.fault(kind))
            happened(number + 1, found[-1])
        until_ms = play.finish()
        kept = {name: kept_rows(work, play.plan, name) for name in play.plan.names if keeps_late(name)}
        total = compare(play.plan, written(work), kept, play.unkept, until_ms)
        late = sum(sum(panes.values()) for panes in kept.values())
        return ChaosOutcome(found, total, late, sum(play.unkept.values()), sorted(set(kinds) - can.keys()))


def compare(
    plan: ChaosPlan, rows: dict[str, Written], kept: dict[str, Counter[AdPane]], unkept: Counter[str], until_ms: int
) -> SinkTally:
    """All queries: exactly the truth, or with what was kept as late."""
    total = SinkTally()
    for name, stream in plan.streams().items():
        got = rows.get(name, [])
        if keeps_late(name):
            total += tally_with_late(stream, got, kept.get(name, Counter()), unkept[name], until_ms)
        else:
            total += tally(stream, got, until_ms)
    return total


def kept_rows(work: Path, plan: ChaosPlan, name: str) -> Counter[AdPane]:
    """The views in a side table, by their pane."""
    stream, found = plan.streams()[name], Counter[AdPane]()
    for file in plan_.side_table(work, name).rglob("*"):
        if file.is_file() and not file.name.startswith((".", "_")):
            for line in file.read_text().splitlines():
                row = json.loads(line)["row"]
                if row["event_type"] == "view":
                    at = _event_ms(row)
                    end = at - (at - stream.offset_ms) % stream.window_ms + stream.window_ms
                    found[end, int(stream.campaign_of[int(row["ad_id"])])] += 1
    return found


def _event_ms(row: dict[str, Any]) -> int:
    from datetime import datetime

    return round(datetime.fromisoformat(row["event_time"]).timestamp() * 1000)


@contextmanager
def _prepared(work: Path, seed: int, say: Say, kafka: bool) -> Iterator[ChaosRun]:
    with ExitStack() as held:
        broker = start_broker(work / "broker") if kafka else None
        boot_ms = now_ms() - time.monotonic_ns() // 1_000_000
        plan = ChaosPlan(seed, now_ms(), boot_ms, broker.address if broker else None)
        plan.write(work)
        folders = [
            plan_.journal(work),
            *(plan_.checkpoint(work, name) for name in plan.names),
            *(plan_.side_table(work, name) for name in plan.names if keeps_late(name)),
        ]
        mounted = held.enter_context(disks(folders))
        listener = held.enter_context(Listener(str(work / "line"), "AF_UNIX"))
        play = ChaosRun(work, plan, random.Random(seed), say, listener, broker, mounted=mounted)
        with suppress(HeadwayError):
            play.clock = ChildClock(work)
        held.callback(lambda: play.broker.stop() if play.broker else None)
        for name, stream in plan.streams().items():
            if broker is not None and from_kafka(name):
                held.callback(Sender(broker.address, name, stream).close)
        held.callback(play.end)
        yield play
