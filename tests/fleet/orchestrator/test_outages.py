"""For how long a move keeps its query out of service: out of the receipts of its nodes."""

from dataclasses import replace

from headway.fleet.node.wire import Action, CommandReceipt
from headway.fleet.orchestrator.outages import Outages
from headway.model.time import WallMs


def told(action: Action, epoch: int, at: int, stood: int | None = None, **parts_ms: float) -> CommandReceipt:
    stood_at = None if stood is None else WallMs(stood)
    return CommandReceipt("r", action, "q", epoch, True, "done", WallMs(at), parts_ms=parts_ms, stood_at=stood_at)


DRAINED = told("drain", 3, 1_007, stood=1_000, moment=900, drain=30, lease=2)
TAKEN = told("take", 4, 1_030, fence=1, copy=6, lease=3)
STARTED = told("start", 4, 1_060, build=0, start=11, gate=14)


def test_it_lasts_from_where_the_query_stands_until_it_stands_again() -> None:
    outages = Outages()
    assert [outages.hear(one, moving=True) for one in (DRAINED, TAKEN)] == [None, None]
    found = outages.hear(STARTED, moving=True)
    assert found is not None and (found.ms, found.epoch) == (60, 4) and outages.of("q") == found
    assert found.parts_ms == {
        "stop": 7.0, "release": 2.0, "fence": 1.0, "copy": 6.0, "lease": 3.0, "build": 0.0, "start": 11.0, "gate": 14.0,
        "on the way": 16.0,
    }  # fmt: skip
    assert str(found).startswith("out of service for 60 ms (stop 7, release 2, ")


def test_what_is_told_again_changes_nothing() -> None:
    outages = Outages()
    again = replace(DRAINED, at=WallMs(1_500), stood_at=None)  # it was drained before
    heard = [outages.hear(one, moving=True) for one in (DRAINED, again, TAKEN, STARTED)]
    assert heard[-1] is not None and heard[-1].ms == 60
    assert outages.hear(told("start", 4, 1_560), moving=True) is None  # it is in a batch already
    found = outages.of("q")
    assert found is not None and found.ms == 60


def test_home_is_reached_when_it_stands_there() -> None:
    outages = Outages()
    for one in (DRAINED, TAKEN, replace(STARTED, done=False)):
        assert outages.hear(one, moving=True) is None
    home = outages.hear(told("start", 5, 1_400, start=10), moving=True)
    assert home is not None and (home.ms, home.epoch) == (400, 5)


def test_a_start_that_is_no_move_ends_no_outage() -> None:
    outages = Outages()
    assert outages.hear(DRAINED, moving=True) is None
    assert outages.hear(told("start", 9, 99_000), moving=False) is None and outages.of("q") is None
    assert outages.hear(told("start", 3, 1_100), moving=True) is None
