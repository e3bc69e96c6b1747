"""Batches tell when windows were out."""

from headway_lab.harness.batches import latencies_ms


def test_a_window_is_out_with_the_first_batch_that_has_passed_it() -> None:
    batches = [(1_500, 1_000, 3), (3_700, 2_999, 0), (4_100, 4_000, 5)]
    assert latencies_ms(batches, [1_000, 2_000, 3_000, 4_000, 5_000], 9_000) == [500, 1_700, 1_100, 100, 4_000]
