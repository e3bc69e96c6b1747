"""Random schedules in virtual time: pauses, cuts, lost answers, a server that goes and comes. Two leaders never act."""

from dataclasses import dataclass, field
from random import Random

import pytest

from fleet.trees import PLACED, Placed
from headway.errors import SettingError
from headway.fleet.candidacy import Candidacy
from headway.fleet.election import Leading
from headway.fleet.leases import QueryLease, QueryLeasing
from headway.fleet.memory import MemorySession, MemoryTree
from headway.fleet.session import Session, SessionState, Tell, Unheard
from headway.fleet.store import PutRecord, Written
from headway.model.time import VirtualClock

TIMEOUT_MS, STEP_MS, STEPS = 1_000, 50, 120
ROOT = "/fleet"


@dataclass
class Schedule:
    """One of them, by its number."""

    number: int
    clock: VirtualClock = field(default_factory=VirtualClock)
    written: list[tuple[int, int]] = field(default_factory=list)  # version of the record, epoch of who wrote it
    tokens: list[int] = field(default_factory=list)
    leaders: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.random = Random(self.number)
        self.tree = MemoryTree(self.clock)
        self.processes = [Process(self, name) for name in ("north", "south", "west")]

    def play(self) -> None:
        for _ in range(STEPS):
            self.clock.advance(STEP_MS)
            self.tree.expire_due()
            self._trouble()
            for process in self.random.sample(self.processes, len(self.processes)):
                process.step()
            sure = [p.name for p in self.processes if p.runs and p.candidacy.sure()]
            assert len(sure) < 2, f"schedule {self.number}: {sure} are sure to lead at once"
            held = [p.name for p in self.processes if p.lease is not None and p.lease.sure()]
            assert len(held) < 2, f"schedule {self.number}: {held} are sure of one lease at once"

    def _trouble(self) -> None:
        one = self.random.choice(self.processes)
        match self.random.randrange(12):
            case 0:
                one.frozen_until = self.clock.now() + self.random.randrange(3_000)
            case 1:
                one.session.cut = not one.session.cut
            case 2:
                one.session.lose = self.random.choice(["request", "answer"])
            case 3 if self.tree.up and self.random.random() < 0.3:
                self.tree.stop()
            case 4 | 5:
                one.session.cut = False
                if not self.tree.up:
                    self.tree.start()


class Process:
    """It stands in the election, writes as leader, and wants the lease of a query."""

    def __init__(self, schedule: Schedule, name: str) -> None:
        self.name, self._all = name, schedule
        self.frozen_until, self.beaten = 0, 0
        self.candidacy = Candidacy(self._open, ROOT, name)
        self.lease: QueryLease | None = None
        self._meant: Leading | None = None  # it was sure, and then it was frozen: it writes when it wakes up

    def _open(self, tell: Tell) -> Session:
        self.session: MemorySession = self._all.tree.open(self.name, TIMEOUT_MS, tell)
        self.leasing = QueryLeasing(self.session, ROOT)
        return self.session

    @property
    def runs(self) -> bool:
        return self._all.clock.now() >= self.frozen_until

    def step(self) -> None:
        if not self.runs:
            return
        self._write()
        if self._all.clock.now() - self.beaten >= self.session.beat_every_ms:
            self.beaten = self._all.clock.now()
            self.session.beat()
        office = self.candidacy.turn()
        self._meant = office if isinstance(office, Leading) and self.candidacy.sure() else None
        if self._meant is not None:
            self._all.leaders.add(self.name)
        if self._all.random.random() < 0.7:
            self._write()
        self._want()

    def _write(self) -> None:
        """What it meant to write when it was sure, however long ago that was."""
        if self._meant is None:
            return
        try:
            before = self.candidacy.store.read(PLACED, "books")
            version = None if before is None else before.version
            put = PutRecord(PLACED, "books", Placed("books", self.name), version)
            done = self.candidacy.store.write(self._meant, put)
        except Unheard:
            return
        if isinstance(done, Written):
            self._all.written.append((done.versions[0], self._meant.epoch))

    def _want(self) -> None:
        lease = self.lease
        try:
            if lease is not None and (lease.lost is not None or self.session.state is SessionState.OVER):
                self.lease = None
            elif lease is not None and self._all.random.random() < 0.2:
                self.lease = None
                lease.release()
            elif lease is None:
                self.lease = self.leasing.acquire("books", self.name)
                self._all.tokens.append(self.lease.token or 0)
        except (Unheard, SettingError):
            return


@pytest.mark.parametrize("part", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 10))])
def test_two_leaders_never_act_and_epochs_and_tokens_only_grow(part: int) -> None:
    written = takeovers = 0
    for number in range(part * 50, part * 50 + 50):
        schedule = Schedule(number)
        schedule.play()
        epochs = [epoch for _, epoch in schedule.written]
        assert epochs == sorted(epochs), f"schedule {number}: a deposed leader has written"
        versions = [version for version, _ in schedule.written]
        assert len(set(versions)) == len(versions), f"schedule {number}: two have written one version"
        assert schedule.tokens == sorted(set(schedule.tokens)), f"schedule {number}: {schedule.tokens}"
        written += len(versions)
        takeovers += len(schedule.leaders) - 1
    assert written > 500 and takeovers > 25, "the schedules have had something to show"
