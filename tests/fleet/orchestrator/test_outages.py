"""For how long a move keeps its query out of service: out of the receipts of its nodes."""

from dataclasses import replace

from headway.fleet.moves.moment import FIRST_GUESS_MS, MARGIN
from headway.fleet.node.wire import Action, CommandReceipt
from headway.fleet.orchestrator.outages import REMEMBERED, Outages
from headway.model.time import WallMs


def told(
    action: Action, epoch: int, at: int, stood: int | None = None, query: str = "q", **parts_ms: float
) -> CommandReceipt:
    stood_at = None if stood is None else WallMs(stood)
    return CommandReceipt("r", action, query, epoch, True, "done", WallMs(at), parts_ms=parts_ms, stood_at=stood_at)


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


def moved(outages: Outages, query: str, epoch: int, ms: int, **parts_ms: float) -> None:
    outages.hear(told("drain", epoch, 1_007, stood=1_000, query=query), moving=True)
    outages.hear(replace(told("start", epoch + 1, 1_000 + ms, query=query), parts_ms=parts_ms), moving=True)


def test_the_slack_that_a_move_waits_for_is_learnt_from_the_moves_before() -> None:
    outages = Outages()
    assert outages.moment("q").slack_ms == FIRST_GUESS_MS
    moved(outages, "q", 3, 60)
    assert outages.moment("q").slack_ms == outages.moment("another").slack_ms == MARGIN * 60
    moved(outages, "another", 8, 400)
    assert (outages.moment("q").slack_ms, outages.moment("another").slack_ms) == (MARGIN * 60, MARGIN * 400)
    assert outages.moment("a third").slack_ms == MARGIN * 400


def test_a_long_outage_is_forgotten_after_some_short_ones() -> None:
    outages = Outages()
    moved(outages, "q", 3, 2_000)
    for number in range(REMEMBERED - 1):
        moved(outages, "q", 4 + number, 50)
    assert outages.moment("q").slack_ms == MARGIN * 2_000
    moved(outages, "q", 20, 50)
    assert outages.moment("q").slack_ms == MARGIN * 50


def test_nothing_is_learnt_from_the_way_home_nor_from_a_state_that_was_rewritten() -> None:
    outages = Outages()
    for one in (DRAINED, TAKEN, told("start", 5, 9_000)):
        outages.hear(one, moving=True)
    assert outages.of("q") is not None
    moved(outages, "q", 6, 8_000, partitions=7_500)
    assert outages.moment("q").slack_ms == FIRST_GUESS_MS
