"""Cores that work shares equally: nothing is done twice as fast, nothing is lost."""

from hypothesis import given
from hypothesis import strategies as st

from headway.sim.cores import Cores


def play(cores: float, pieces: list[tuple[int, float]]) -> dict[int, int]:
    """When each (start, work) piece is done."""
    shared, done = Cores(cores), dict[int, int]()
    at = [0]
    left = sorted(enumerate(pieces), key=lambda p: p[1][0])
    while left or shared.running:
        now = at[0] = min(x for x in (left[0][1][0] if left else None, shared.next_at) if x is not None)
        shared.run_due(now)
        while left and left[0][1][0] <= now:
            number, (_, work) = left.pop(0)
            shared.start(now, work, lambda number=number: done.update({number: at[0]}))  # type: ignore[misc]
    assert abs(shared.busy_ms - sum(work for _, work in pieces)) <= len(pieces) * cores + 1
    return done


def test_alone_a_piece_takes_its_own_time() -> None:
    assert play(2, [(10, 100.0)]) == {0: 110}


def test_two_on_two_cores_do_not_meet() -> None:
    assert play(2, [(0, 100.0), (0, 50.0)]) == {0: 100, 1: 50}


def test_three_on_two_cores_slow_each_other_down_alike() -> None:
    assert play(2, [(0, 100.0), (0, 100.0), (0, 100.0)]) == {0: 150, 1: 150, 2: 150}


def test_who_comes_later_shares_only_from_then_on() -> None:
    assert play(1, [(0, 100.0), (50, 100.0)]) == {0: 150, 1: 200}


pieces_ = st.lists(st.tuples(st.integers(0, 500), st.floats(1, 300)), min_size=1, max_size=12)


@given(pieces=pieces_, cores=st.integers(1, 4))
def test_nobody_is_faster_than_alone_nor_slower_than_all_in_a_row(pieces: list[tuple[int, float]], cores: int) -> None:
    done = play(cores, pieces)
    assert len(done) == len(pieces)
    whole = sum(work for _, work in pieces)
    for number, (start, work) in enumerate(pieces):
        assert start + work - 1e-3 <= done[number] <= start + whole + len(pieces)
