"""What a delay would cost in late rows, from the oldest, the mean and the newest event time of each batch."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from headway.advice.advice import AdviceItem
from headway.advice.checks import examined
from headway.advice.checks.looks import late_at_most, lateness
from headway.advice.checks.watermark import could_be
from headway.advice.history import ProgressReport, StreamHistory
from headway.advice.report import Advice
from headway_lab.experiments.advice.made_jobs import MadeQuery, job


def seen(batches: list[list[int]]) -> StreamHistory:
    """A query whose batches had rows of these event times."""
    reports = [
        ProgressReport(
            number, "run", number * 1_000, 100, len(times), {}, None, max(times), min(times), round(sum(times) / len(times))
        )
        for number, times in enumerate(batches)
    ]
    return StreamHistory("clicks", tuple(reports))


def truly_late(batches: list[list[int]], delay: int) -> float:
    """Rows older than the newest of all batches before, less the delay."""
    newest, late, rows = max(batches[0]), 0, 0
    for times in batches[1:]:
        late, rows = late + sum(at < newest - delay for at in times), rows + len(times)
        newest = max(newest, *times)
    return late / rows


@given(
    batches=st.lists(st.lists(st.integers(0, 20_000), min_size=1, max_size=30), min_size=2, max_size=8),
    delay=st.integers(0, 15_000),
)
def test_no_delay_costs_more_than_is_said(batches: list[list[int]], delay: int) -> None:
    most = late_at_most(seen(batches), delay)
    assert most is not None and truly_late(batches, delay) <= most + 0.001 <= 1.002  # the mean is told in whole ms


@given(batches=st.lists(st.lists(st.integers(0, 20_000), min_size=1, max_size=30), min_size=2, max_size=8))
def test_the_longest_lateness_costs_nothing_and_less_costs_something(batches: list[list[int]]) -> None:
    query = seen(batches)
    longest = max(lateness(query))
    assert late_at_most(query, longest) == 0
    assert not longest or (late_at_most(query, longest - 1) or 0) > 0


def test_a_few_rows_far_behind_cost_little_and_it_says_how_little() -> None:
    batches = [[n * 1_000 + at for at in range(0, 1_000, 10)] for n in range(20)]
    for n in range(2, 20):
        batches[n][0] -= 4_000  # one row in a hundred
    (said,) = could_be(seen(batches))
    # Of rows that are half a second behind the newest on average, at most a sixth is three seconds behind.
    assert said.startswith("of the rows seen would be late: with 4.0 s none, with 3.0 s at most 13%, with 2.0 s at most 17%")
    assert truly_late(batches, 3_000) < 0.01


def test_nothing_is_said_where_no_event_times_were_seen() -> None:
    bare = StreamHistory("clicks", tuple(replace(r, oldest=None, mean=None, newest=None) for r in seen([[1], [2]]).reports))
    assert late_at_most(bare, 1_000) is None and could_be(bare) == ()


def test_it_is_said_where_a_delay_is_too_long_or_too_short_and_on_the_page() -> None:
    long, short = MadeQuery(delay_ms=60_000, batches=300), MadeQuery(state={"numRowsDroppedByWatermark": 3})
    for query, check in ((long, "delay-too-long"), (short, "delay-too-short")):
        item = named(job(query), check)
        assert any(one.startswith("of the rows seen would be late: with 600 ms none, with 500 ms") for one in item.evidence)
    assert "<td>of the rows seen would be late: with 600 ms none" in Advice.on(job(MadeQuery())).page()


def named(history: object, check: str) -> AdviceItem:
    return next(item for item in examined(history) if item.check == check)  # type: ignore[arg-type]
