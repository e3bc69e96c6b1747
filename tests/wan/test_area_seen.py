"""What a wide-area controller sees: how full links are, and what stages read, write and leave waiting."""

from itertools import pairwise

import numpy as np
import pytest

from headway.estimate.link import first_known
from headway.model.geo import Deployment, GeoPlan, Stage
from headway.model.piece import Channel, Piece
from headway.model.time import WallMs
from headway.wan.control.link_gauge import Counts, LinkCount, LinkGauge
from headway.wan.control.rates import AreaRates, AreaSample
from headway.wan.control.record import AreaRecord, RunningPlan
from headway.wan.control.sight import AreaSight, ChangeHistory, KnownArea
from headway.wan.control.sites import SiteAddress
from headway.wan.plan import plan_of

SITES = ("here", "there")
OVER, BACK = ("here", "there"), ("there", "here")


def looks(gauge: LinkGauge, *counts: LinkCount) -> None:
    """One second apart, of the link from here to there."""
    for before, now in pairwise(counts):
        gauge.saw({OVER: before}, {OVER: now}, 1.0)


def gauge() -> LinkGauge:
    return LinkGauge(SITES, dict)


def test_a_link_in_front_of_which_something_waits_shows_how_fast_it_is() -> None:
    made = gauge()
    busy = [LinkCount(n * 1_000, n, 500) for n in range(5)]
    idle = [LinkCount(4_000 + n * 10, 4, 0) for n in range(5)]
    looks(made, *busy)
    assert made.full_now() == {OVER}
    looks(made, *idle)
    told = made.round()
    assert told.seconds == 8 and told.bytes_per_s[0, 1] == 1_000 and told.full[0, 1] == 0.5
    assert told.sent[0, 1] == 4_040 and told.sent[1, 0] == 0
    assert made.round().sent[0, 1] == 0 and made.total[0, 1] == 4_040, "a round begins anew, the total does not"


def test_a_link_that_is_full_for_a_moment_says_nothing_of_its_bandwidth() -> None:
    made = gauge()
    looks(made, *(LinkCount(n * 1_000, n, 500) for n in range(3)), LinkCount(2_500, 2, 0), LinkCount(2_500, 2, 0))
    assert made.round().full[0, 1] == 0, "two full seconds are none"
    assert made.full_now() == frozenset()


def known_area() -> KnownArea:
    addresses = tuple(SiteAddress(name, "", "", "", "/") for name in SITES)
    return KnownArea(addresses, np.full((2, 2), 900.0), np.zeros((2, 2)), np.zeros((2, 2)))


def record_of(plan: GeoPlan) -> AreaRecord:
    deployed = Deployment.of([[1, 0], [1, 0], [0, 1], [0, 1]])
    return AreaRecord("p", SITES).with_plan(RunningPlan(1, plan.name, deployed, ()))


def test_a_link_that_is_down_carries_nothing_until_it_is_up_again() -> None:
    made = gauge()
    looks(made, *(LinkCount(n * 1_000, n, 500) for n in range(5)), LinkCount(4_000, 4, 0, up=False))
    assert made.down_now() == {OVER} and OVER in made.full_now()
    sight, plan = AreaSight(known_area(), first_known(known_area().bandwidth), made, 1_000, 10_000), a_plan()
    sight.runs(plan, PIECES)
    record = record_of(plan)

    def bandwidth() -> float:
        seen = sight.view(WallMs(0), record, (), ChangeHistory(False, WallMs(0), ()), frozenset())
        assert seen is not None
        return float(seen.area.links.bandwidth[0, 1])

    assert bandwidth() == 0.0
    looks(made, LinkCount(4_000, 4, 0, up=False), LinkCount(4_000, 4, 0))
    assert made.down_now() == frozenset() and bandwidth() == 900.0, "what was known of it is known again"


def test_counters_that_began_anew_are_no_traffic() -> None:
    made = gauge()
    looks(made, LinkCount(9_000, 4, 10), LinkCount(100, 0, 0), LinkCount(300, 0, 0))
    assert made.total[0, 1] == 200


def test_looks_go_on_though_one_fails(capsys: pytest.CaptureFixture[str]) -> None:
    answers: list[Counts | Exception] = [ValueError("no such thing"), {BACK: LinkCount(10, 0, 0)}]

    def counts() -> Counts:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    made = LinkGauge(SITES, counts)
    assert made._look() is None and made._look() == {BACK: LinkCount(10, 0, 0)}
    assert "the links cannot be looked at: no such thing" in capsys.readouterr().err


def a_plan() -> GeoPlan:
    return plan_of(
        "p",
        [
            Stage("src", "source", site="here", selectivity=0.5),
            Stage("part", "partial", ("src",), site="here", window_ms=1_000),
            Stage("all", "combine", ("part",), window_ms=1_000),
            Stage("sink", "sink", ("all",), site="there"),
        ],
    )


IN, OUT = Channel("p.in", "here", "p-src"), Channel("p.out", "there", "p-all")
PIECES = (
    Piece("p-src", "p", 1, "here", ("src", "part"), writes=(IN,)),
    Piece("p-all", "p", 1, "there", ("all",), reads=(IN,), writes=(OUT,)),
    Piece("p-sink", "p", 1, "there", ("sink",), reads=(OUT,)),
)


def sample(second: int, source: int, written: int, read: int, out: int = 0) -> AreaSample:
    return AreaSample(second * 1_000, {"p-src": source, "p-all": read, "p-sink": out}, {"p.in": written, "p.out": out})


def test_rates_are_those_of_the_last_moments() -> None:
    seen = AreaRates(a_plan(), PIECES, period_ms=2_000)
    for second in range(10):
        seen.saw(sample(second, 1_000 * second, 100 * second, 100 * second, 10 * second), keep_ms=4_000)
    source, part, combine, sink = seen.rates()
    assert (source.emitted, source.arrived) == (500, 500), "what its filters leave of a thousand"
    assert (part.processed, part.emitted) == (500, 100)
    assert (combine.arrived, combine.processed, combine.emitted, combine.waiting) == (100, 100, 10, 0)
    assert (sink.processed, sink.strained_ms, sink.calm_ms) == (10, 0, 9_000)


def test_batches_that_take_longer_than_a_round_make_no_stage_look_slow() -> None:
    seen, rates = AreaRates(a_plan(), PIECES, period_ms=2_000), []
    for second in range(70):
        ended = min(second, 56) // 14  # batches of 14 s each, which read all that is there when they begin; the fifth hangs
        seen.saw(sample(second, 900 * second, 300 * second, 300 * 14 * max(0, ended - 1)), keep_ms=10_000)
        rates.append(seen.rates()[2].processed)
    assert rates[43:57] == [300.0] * 14
    assert rates[69] == 300.0, "for 13 s nothing was read, as before"
    for second in range(70, 120):
        seen.saw(sample(second, 900 * second, 300 * second, 300 * 14 * 3), keep_ms=10_000)
    assert 0 < seen.rates()[2].processed < 100, "who stands still is slow"


@pytest.mark.parametrize(("full", "arrived"), [(frozenset({("here", "there")}), 60.0), (frozenset(), 100.0)])
def test_what_waits_is_held_up_by_a_full_link_or_else_by_the_stage_itself(
    full: frozenset[tuple[str, str]], arrived: float
) -> None:
    seen = AreaRates(a_plan(), PIECES, period_ms=2_000)
    for second in range(21):
        seen.saw(sample(second, 1_000 * second, 100 * second, 60 * second), keep_ms=10_000)
    combine = seen.rates(full)[2]
    assert combine.waiting == 800 and combine.processed == 60 and combine.arrived == arrived
    assert 10_000 <= combine.strained_ms <= 15_000 and combine.calm_ms == 0, "what is read a period later is no strain"


def test_a_stage_behind_a_full_link_is_shown_as_held_up_by_it_and_not_as_too_slow() -> None:
    made, plan = gauge(), a_plan()
    sight = AreaSight(known_area(), first_known(known_area().bandwidth), made, 2_000, 10_000)
    sight.runs(plan, PIECES)
    for second in range(1, 22):
        before, now = (LinkCount(60_000 * n, n, 9_000) for n in (second - 1, second))
        made.saw({OVER: before}, {OVER: now}, 1.0)
        sight.saw(sample(second, 1_000 * second, 100 * second, 60 * second))
    sight.measure(WallMs(21_000))
    seen = sight.view(WallMs(21_000), record_of(plan), (), ChangeHistory(False, WallMs(0), ()), frozenset())
    assert seen is not None and seen.area.links.bandwidth[0, 1] > 900
    assert (seen.rates[2].arrived, seen.rates[2].processed) == (60, 60), "as much arrives as the link carries"


def test_a_change_begins_the_rates_anew() -> None:
    seen = AreaRates(a_plan(), PIECES, period_ms=0)
    for second in range(5):
        seen.saw(sample(second, 0, 1_000 * second, 0), keep_ms=60_000)
    assert seen.rates()[2].strained_ms > 0
    seen.begin()
    assert seen.rates()[2].strained_ms == 0 and seen.offered(seen.plan.stages[2]) == 0
    assert np.isclose(seen.waiting(seen.plan.stages[2]), 4_000), "what waits still waits"
