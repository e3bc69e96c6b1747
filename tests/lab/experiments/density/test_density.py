"""The search for the most queries held: right within its promise, and sparing with tries, since each takes a minute."""

from hypothesis import given
from hypothesis import strategies as st

from headway_lab.experiments.density.run import largest_that_holds


@given(st.integers(0, 300), st.integers(1, 256), st.sampled_from([4, 16, 64]))
def test_the_answer_holds_and_a_little_more_does_not(truth: int, limit: int, first: int) -> None:
    tried: list[int] = []

    def holds(queries: int) -> bool:
        tried.append(queries)
        return queries <= truth

    answer = largest_that_holds(holds, first, limit)
    best = min(truth, limit)
    assert answer <= best and best - answer <= max(1.0, 0.1 * answer)
    assert len(tried) == len(set(tried)) <= 11


def test_nothing_is_tried_beyond_the_limit() -> None:
    assert largest_that_holds(lambda queries: queries <= 100, 8, 20) == 20
    assert largest_that_holds(lambda queries: False, 8, 20) == 0
