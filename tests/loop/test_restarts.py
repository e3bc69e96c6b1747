"""How often and how soon a query that failed is started again."""

from headway.loop.restarts import HEALTHY_MS, Restarts


def test_pauses_double_up_to_a_minute_and_end_when_all_are_used() -> None:
    restarts, pauses = Restarts(8), []
    for _ in range(9):
        restarts = restarts.after_failure(healthy_ms=0)
        pauses.append(restarts.pause_ms)
    assert pauses == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, None]


def test_after_ten_minutes_without_a_failure_all_is_forgotten() -> None:
    used = Restarts(1).after_failure(0)
    assert used.after_failure(HEALTHY_MS - 1).pause_ms is None
    assert used.after_failure(HEALTHY_MS).pause_ms == 1_000


def test_a_query_that_is_not_to_be_started_again_is_not() -> None:
    assert Restarts(0).after_failure(0).pause_ms is None
