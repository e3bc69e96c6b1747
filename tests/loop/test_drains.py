"""Who drains a query is told how it stood, once it stands."""

from headway.loop.drains import Drains
from headway.loop.tracker import QueryTracker
from headway.model.deadline import Deadlines, Grid
from headway.model.message import Drain, InputSpec, QuerySpec, Stood
from headway.model.offset import ControlOffset
from headway.model.time import WallMs

SPEC = QuerySpec("counts", (InputSpec("clicks", 500),), Deadlines((Grid(3_000),)), ahead=True)


def at_its_gate() -> QueryTracker:
    tracker = QueryTracker(SPEC)
    tracker.asked(WallMs(1_000), ControlOffset(seq=3, wm=6_000))
    return tracker


def test_one_at_its_gate_stands_at_once_and_is_let_through_no_more() -> None:
    drains, told, done = Drains(), list[Stood](), list[str]()
    drains.add(Drain("counts", lambda: done.append("done"), told.append))
    assert drains.settle(WallMs(1_200), {"counts": at_its_gate()}, {}) == ["counts"]
    (stood,) = told
    assert (stood.at, stood.batch, stood.announced) == (1_200, None, 6_000) and done == ["done"]
    assert drains.settle(WallMs(1_300), {"counts": at_its_gate()}, {}) == [] and len(told) == 1


def test_one_in_a_batch_stands_when_it_comes_back() -> None:
    drains, told, tracker = Drains(), list[Stood](), at_its_gate()
    tracker.granted(WallMs(1_100), None)
    drains.add(Drain("counts", lambda: None, told.append))
    assert drains.settle(WallMs(1_200), {"counts": tracker}, {}) == [] and told == []
    tracker.asked(WallMs(1_900), ControlOffset(seq=3, wm=6_000))
    assert drains.settle(WallMs(1_900), {"counts": tracker}, {}) == ["counts"] and told[0].at == 1_900


def test_of_one_that_is_gone_only_the_end_is_told() -> None:
    drains, told, done = Drains(), list[Stood](), list[str]()
    drains.add(Drain("counts", lambda: done.append("done"), told.append))
    assert drains.settle(WallMs(1_200), {}, {}) == ["counts"] and (told, done) == ([], ["done"])


def test_another_query_is_not_kept() -> None:
    drains, other = Drains(), at_its_gate()
    other.granted(WallMs(1_100), None)
    drains.add(Drain("counts", lambda: None))
    assert drains.settle(WallMs(1_200), {"counts": at_its_gate(), "other": other}, {}) == ["counts"] and not drains.all
