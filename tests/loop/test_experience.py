"""What a query has learnt on one node is known on the next one from the start."""

from dataclasses import replace

import pytest

from headway.fleet.node.text import read, written
from headway.loop.experience import gathered
from headway.loop.tracker import QueryTracker
from headway.model.deadline import Deadlines, Grid
from headway.model.experience import Experience
from headway.model.message import BatchSeen, InputSeen, InputSpec, QuerySpec
from headway.model.offset import ControlOffset
from headway.model.time import EventMs, WallMs
from headway.policy.patience import Quantile

SPEC = QuerySpec("counts", (InputSpec("clicks", 500),), Deadlines((Grid(3_000),)), ahead=True)


def experienced(spec: QuerySpec, batches: int = 20) -> QueryTracker:
    """A tracker that has seen batches of a stream, some of which swept a window."""
    tracker = QueryTracker(spec)
    tracker.asked(WallMs(1_000), ControlOffset())
    for n in range(batches):
        now = WallMs(10_000 + 1_000 * n)
        tracker.granted(now, EventMs(3_000 * (n // 3)))
        seen = InputSeen(
            spec.inputs[0].name,
            1_000 + 10 * n,
            EventMs(now - 50),
            EventMs(now - 900),
            ((50.0, 800.0), (400.0, 200.0 + 10 * n)),
        )
        watermark = EventMs(tracker.announced)
        tracker.saw(BatchSeen("counts", n, now, WallMs(now + 120), 120, seen.rows, watermark, (seen,), state_updated=100))
        tracker.asked(WallMs(now + 130 + n), tracker.start.next(tracker.announced, True))
    return tracker


def taken(tracker: QueryTracker) -> Experience:
    return gathered(tracker.cost, tracker.selectivity, list(tracker.inputs.values()))


def test_costs_rates_and_delays_are_known_from_the_start() -> None:
    old = experienced(SPEC)
    new = QueryTracker(replace(SPEC, experience=taken(old)))
    assert new.cost == old.cost and new.cost.fixed_ms != 300 and new.selectivity == old.selectivity < 1
    was, now = old.view().inputs[0], new.view().inputs[0]
    assert now.rows_per_s == was.rows_per_s > 0
    assert was.delay is not None and now.delay == was.delay
    assert (new.view().fixed_ms, new.view().per_row_ms) == (old.view().fixed_ms, old.view().per_row_ms)


def test_how_far_the_stream_has_come_is_found_out_anew() -> None:
    new = QueryTracker(replace(SPEC, experience=taken(experienced(SPEC)))).view()
    assert new.inputs[0].frontier is None and not new.live and new.announced == new.swept == 0


def test_it_goes_over_the_wire_unchanged() -> None:
    known = taken(experienced(SPEC))
    assert read(Experience, written(known)) == known


def test_a_patience_that_adapts_remembers_its_tails() -> None:
    policy = Quantile(0.99)
    spec = replace(SPEC, inputs=(InputSpec("clicks", policy.delay_ms, policy=policy),))
    old = experienced(spec)
    new = QueryTracker(replace(spec, experience=read(Experience, written(taken(old)))))
    (was,), (now,) = (tracker.inputs["clicks"].tails.values() for tracker in (old, new))
    assert was.rows > 0 and now.rows == pytest.approx(was.rows)
    assert [now.within(share) for share in (0.5, 0.9, 0.99)] == pytest.approx([was.within(s) for s in (0.5, 0.9, 0.99)])


def test_what_was_learnt_of_other_inputs_says_nothing() -> None:
    two = replace(SPEC, inputs=(InputSpec("clicks", 500), InputSpec("views", 500)))
    new = QueryTracker(replace(two, experience=taken(experienced(SPEC))))
    assert all(i.delay is None and i.rows_per_s == 0 for i in new.view().inputs) and len(new.view().inputs) == 2
    assert new.cost.fixed_ms is not None  # its batches cost what they did


def test_names_that_nobody_gave_may_differ_from_node_to_node() -> None:
    elsewhere = replace(SPEC, inputs=(InputSpec("input-7", 500),), experience=taken(experienced(SPEC)))
    assert QueryTracker(elsewhere).view().inputs[0].delay is not None


def test_a_query_that_is_to_prove_itself_runs_its_first_batch_whatever_comes() -> None:
    calm, proving = QueryTracker(SPEC), QueryTracker(replace(SPEC, proves=True))
    for tracker in (calm, proving):
        tracker.asked(WallMs(1_000), ControlOffset(seq=5, wm=9_000))
    assert calm.granted(WallMs(2_000), None) == ControlOffset(seq=5, wm=9_000)  # as it was: without rows no batch
    first = proving.granted(WallMs(2_000), None)
    assert (first.seq, first.wm) == (6, 9_000)
    proving.saw(BatchSeen("counts", 0, WallMs(2_000), WallMs(2_050), 50, 0, EventMs(9_000)))
    proving.asked(WallMs(2_060), first)
    assert proving.granted(WallMs(3_000), None) == first
