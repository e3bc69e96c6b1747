"""How fast rows come, as told by what batches have read."""

import pytest

from headway.estimate.arrivals import SILENT_LEAST_S, QueryArrivals


def told(reads: list[float], waits: bool = False, begun: QueryArrivals | None = None) -> list[float]:
    return (begun or QueryArrivals()).after(reads, waits)[1]


def test_it_goes_on_where_it_has_stopped() -> None:
    reads, arrivals, rates = [0.0, 30.0, *[0.0] * 20, 500.0, 0.0, 10.0], QueryArrivals(), list[float]()
    for rows in reads:
        arrivals, one = arrivals.after([rows])
        rates += one
    assert (arrivals, rates) == QueryArrivals().after(reads)


def test_a_batch_every_ten_seconds_tells_the_same_rate_in_every_second() -> None:
    assert told([*[0.0] * 9, 1400.0] * 4) == [140.0] * 21, "from the second batch on"


def test_a_batch_every_second_tells_what_it_has_read() -> None:
    assert told([5.0, 10.0, 30.0, 20.0]) == [10.0, 30.0, 20.0], "nobody knows since when the first rows had come"


def test_what_an_overloaded_node_reads_late_is_what_was_sent_and_not_what_got_through() -> None:
    assert told([100.0, *[0.0] * 29, 3000.0])[-1] == 100.0


def test_a_query_that_reads_nothing_for_long_gets_nothing_unless_it_waits_for_its_turn() -> None:
    calm = [10.0, 10.0, *[0.0] * SILENT_LEAST_S]
    assert told(calm)[-2:] == [10.0, 0.0]
    assert told(calm, waits=True)[-1] == 10.0
    seldom = [100.0, *[0.0] * 9, 100.0, *[0.0] * 30]
    assert told(seldom)[-2:] == [10.0, 0.0], "thrice as long as it usually takes"


def test_a_batch_reads_what_has_come_until_it_begins() -> None:
    long = QueryArrivals(rate=140.0, quiet_s=3, usual_s=10, took_s=6.0)
    assert long.after([1260.0], took_s=1.0)[1] == [140.0], "it ended four seconds after the last, and began nine after that"
    assert QueryArrivals(100.0, 0, 1, took_s=0.9).after([100.0], took_s=0.1)[1] == [100.0], "seconds are too coarse for that"


def test_in_another_life_the_first_batch_tells_nothing_and_the_rate_is_the_last_one() -> None:
    before = QueryArrivals(rate=140.0, quiet_s=25, usual_s=10)
    assert told([0.0, 4000.0, 0.0, 280.0], begun=before.elsewhere()) == [140.0, 140.0, 140.0, 140.0]
    assert told([4000.0], begun=before) == [pytest.approx(153.8, rel=0.01)]
