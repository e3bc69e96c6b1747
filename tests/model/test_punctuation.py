"""What a stage says behind its rows, and what is done with a batch that may be in the topic already."""

import random

from hypothesis import given
from hypothesis import strategies as st

from headway.model.deadline import Grid
from headway.model.punctuation import Punctuation, UpstreamFlow, later_by, slowest, verdict
from headway.model.time import EventMs, WallMs
from headway.model.view import DelayView

LAG = DelayView(5, 700.0, 10.0, 80.0, 600.0, 900.0)


def said(batch: int, *, lineage: str = "one", incarnation: int = 1, planned: str | None = None) -> Punctuation:
    return Punctuation("minutes", lineage, incarnation, batch, planned or f"plan {batch}", 2, WallMs(0))


def test_a_batch_is_written_unless_the_topic_has_it() -> None:
    assert verdict(None, "one", 0, "plan 0") == "write"
    assert verdict(said(7), "one", 8, "plan 8") == "write"
    assert verdict(said(7), "one", 7, "plan 7") == "written"


def test_a_checkpoint_that_is_older_than_the_topic_is_told_from_a_batch_that_is_run_again() -> None:
    assert verdict(said(7), "one", 6, "plan 6") == "behind"
    assert verdict(said(7), "one", 7, "other rows") == "another"


def test_a_stage_that_begins_from_nothing_writes_its_batches_anew() -> None:
    assert verdict(said(7), "another checkpoint", 0, "plan 0") == "write"


@given(chance=st.integers(0, 2**32).map(random.Random))
def test_every_batch_is_in_the_topic_once_wherever_its_writer_dies(chance: random.Random) -> None:
    """Spark puts down what a batch reads before it runs, and that it is done after the sink has it. Between any two of these
    steps the writer may die; what is in a transaction that was not committed is never seen."""
    planned: dict[int, str] = {}
    done, rows_read, topic, last = -1, 0, list[tuple[int, str]](), None
    incarnation = 1
    for _ in range(60):
        batch = done + 1
        if batch not in planned:
            rows_read += chance.randrange(5)
            planned[batch] = f"up to {rows_read}"
            if dies(chance):
                incarnation += 1
                continue
        found = verdict(last, "one", batch, planned[batch])
        assert found in ("write", "written")
        if found == "write":
            if dies(chance):  # in mid-transaction: it is aborted when the next writer comes
                incarnation += 1
                continue
            topic.append((batch, planned[batch]))
            last = said(batch, incarnation=incarnation, planned=planned[batch])
        if dies(chance):
            incarnation += 1
            continue
        done = batch
    assert [batch for batch, _ in topic] == list(range(len(topic)))
    assert [rows for _, rows in topic] == [planned[batch] for batch, _ in topic]
    assert len(topic) - 1 in (done, done + 1)


def dies(chance: random.Random) -> bool:
    return chance.random() < 0.3


def test_a_deadline_between_two_sweeps_of_the_upstream_waits_for_the_later_one() -> None:
    flow = UpstreamFlow(LAG, (Grid(2_000),))
    assert flow.lag_at(EventMs(4_000)) == LAG
    assert flow.lag_at(EventMs(3_000)) == later_by(LAG, 1_000)
    assert UpstreamFlow(None, (Grid(2_000),)).lag_at(EventMs(3_000)) is None


def test_of_several_delays_the_longest_counts_and_unknown_ones_do_not() -> None:
    assert slowest([None, LAG, later_by(LAG, -50)]) == LAG
    assert slowest([None]) is None
