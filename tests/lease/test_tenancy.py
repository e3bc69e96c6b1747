"""The rules of a lease by files: whoever acts when, and whatever is frozen in between, no two are sure at the same time."""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.lease import tenancy
from headway.lease.tenancy import Create, Delete, Held, Note, Numbers, Pause, Read, StoreStep, Taken, Write

EXPIRY_S = 20.0


@dataclass
class LeaseWorld:
    """A file system and the true time. A file that is being written is empty for a while, as on HDFS."""

    files: dict[int, str] = field(default_factory=dict)
    now: float = 0.0


@dataclass
class Actor:
    """A process that wants the lease, keeps it, and wants it again when it has lost it. One step at a time."""

    name: str
    world: LeaseWorld
    pace: float  # of its clock
    held: Held | None = None
    number: int = 0
    idle_until: float = 0.0
    half_written: Write | None = None
    rules: Generator[StoreStep, Any, Any] | None = None
    answer: Any = None
    ever: list[int] = field(default_factory=list)  # numbers it has held

    def clock(self) -> float:
        return self.world.now * self.pace

    @property
    def sure(self) -> bool:
        return self.held is not None and self.clock() < self.held.until

    def begin(self, letting_go: bool) -> None:
        if self.held is None:
            self.number += 1
            self.rules = tenancy.acquire(Note(self.name, f"{self.name}-{self.number}", EXPIRY_S), self.clock)
        elif letting_go:
            held, self.held = self.held, None
            self.rules = tenancy.release(held)
        else:
            self.rules = tenancy.renew(self.held, self.clock)
        self.answer = None

    def step(self, letting_go: bool = False) -> None:
        if self.half_written is not None:
            self.world.files[self.half_written.number] = self.half_written.text
            self.half_written = None
            return
        if self.clock() < self.idle_until:
            return
        if self.rules is None:
            self.begin(letting_go)
        assert self.rules is not None
        try:
            asked = self.rules.send(self.answer)
        except StopIteration as end:
            self.rules, self.answer = None, None
            if isinstance(end.value, Held):
                self.held = end.value
                self.ever.append(end.value.number)
            elif isinstance(end.value, Taken):
                self.held = None
            return
        self.answer = self.done(asked)

    def done(self, asked: StoreStep) -> Any:
        files = self.world.files
        match asked:
            case Numbers():
                return sorted(files)
            case Read(number):
                return files.get(number)
            case Create(number, text):
                if number in files:
                    return False
                files[number] = ""
                self.half_written = Write(number, text)
                return True
            case Write(number, _):
                files[number] = ""
                self.half_written = asked
            case Delete(number):
                files.pop(number, None)
            case Pause(seconds):
                self.idle_until = self.clock() + seconds
        return None


moves = st.tuples(
    st.integers(0, 2),  # who acts
    st.integers(1, 8),  # so many steps
    st.sampled_from([0.0, 0.1, 1.0, 4.0, 17.0, 21.0, 50.0]),  # and how long nobody did anything before
    st.sampled_from([False] * 9 + [True]),  # whether it lets go of what it has
)
paces = st.tuples(*[st.floats(0.95, 1.05)] * 3)


@settings(max_examples=6 * settings().max_examples)
@given(paces=paces, moves=st.lists(moves, min_size=10, max_size=120))
def test_no_two_are_sure_at_the_same_time(paces: tuple[float, ...], moves: list[tuple[int, int, float, bool]]) -> None:
    world = LeaseWorld()
    actors = [Actor(name, world, pace) for name, pace in zip("abc", paces, strict=True)]
    newest = 0
    for who, steps, wait_s, letting_go in moves:
        world.now += wait_s
        for _ in range(steps):
            actors[who].step(letting_go)
            sure = [actor for actor in actors if actor.sure]
            assert len(sure) <= 1, f"{[actor.name for actor in sure]} both believe it at {world.now}"
            assert max(world.files, default=0) >= newest, "numbers grow"
            newest = max(world.files, default=0)
    held = [number for actor in actors for number in set(actor.ever)]
    assert len(held) == len(set(held)), "a number has one holder"


def lives(world: LeaseWorld, *actors: Actor, for_s: float, every_s: float = 1.0) -> None:
    """All of these act as soon as they may."""
    end = world.now + for_s
    while world.now < end:
        for actor in actors:
            for _ in range(20):
                actor.step()
        world.now += every_s


def test_a_dead_holder_is_replaced_after_its_expiry_and_not_before() -> None:
    world = LeaseWorld()
    dead, heir = Actor("dead", world, 1.0), Actor("heir", world, 1.0)
    lives(world, dead, for_s=10)
    assert dead.sure
    lives(world, heir, for_s=EXPIRY_S - 1)
    assert not heir.sure
    lives(world, heir, for_s=3)
    assert heir.sure and not dead.sure
    assert heir.held is not None and dead.held is not None
    assert sorted(world.files) == [heir.held.number] and heir.held.number == dead.held.number + 1


def test_a_living_holder_keeps_it() -> None:
    world = LeaseWorld()
    holder, other = Actor("holder", world, 0.95), Actor("other", world, 1.05)
    lives(world, holder, for_s=2)
    lives(world, holder, other, for_s=500)
    assert holder.sure and other.ever == []


def test_who_wakes_up_late_finds_out_who_has_it() -> None:
    world = LeaseWorld()
    frozen, heir = Actor("frozen", world, 1.0), Actor("heir", world, 1.0)
    lives(world, frozen, for_s=2)
    held = frozen.held
    lives(world, heir, for_s=2 * EXPIRY_S)
    assert held is not None and heir.sure and not frozen.sure
    rules = tenancy.renew(held, frozen.clock)
    answer: Any = None
    try:
        while True:
            answer = frozen.done(rules.send(answer))
    except StopIteration as end:
        assert end.value == Taken("heir")


def test_what_was_released_is_free_at_once_and_the_number_grows() -> None:
    world = LeaseWorld()
    first, second = Actor("first", world, 1.0), Actor("second", world, 1.0)
    for _ in range(20):
        first.step()
    while first.rules is not None:
        first.step()
    for _ in range(5):
        first.step(letting_go=True)
    for _ in range(12):
        second.step()
    assert world.now == 0.0 and second.sure and second.held is not None and second.held.number == 2


def test_a_file_that_nobody_has_finished_is_a_dead_holder() -> None:
    """Killed between creating and writing."""
    world = LeaseWorld(files={3: ""})
    heir = Actor("heir", world, 1.0)
    lives(world, heir, for_s=EXPIRY_S - 1)
    assert not heir.sure
    lives(world, heir, for_s=3)
    assert heir.sure and heir.held is not None and heir.held.number == 4
