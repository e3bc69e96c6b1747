"""Which watermark may be announced now."""

from headway.estimate.ripe import ripe
from headway.model.view import InputView
from model.making import NOW, query, stream


def test_the_slowest_input_says_what_is_ripe_and_an_idle_one_says_nothing() -> None:
    quick, slow, old = stream("quick", 200), stream("slow", 900), stream("old", 100, live=False, frontier=NOW - 5_000)
    assert ripe(query("a", quick), NOW) == NOW - 200
    assert ripe(query("a", quick, slow), NOW) == NOW - 900
    assert ripe(query("a", quick, old), NOW) == NOW - 5_100
    assert ripe(query("a", quick, stream("slow", 900, idle=True)), NOW) == NOW - 200
    # When all are silent the wall clock goes on: the windows that are open must still come out.
    assert ripe(query("a", stream(idle=True)), NOW) == NOW - 200
    assert ripe(query("a", quick, InputView("new", 0)), NOW) is None
