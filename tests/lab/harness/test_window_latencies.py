"""How long after its due time a window came out, worked out by hand."""

from types import SimpleNamespace

from headway.model.deadline import Grid
from headway_lab.harness.batches import window_latencies

ENDS, PATIENCE_MS = Grid(3_000), 500


def test_a_window_is_out_with_the_first_watermark_that_reaches_its_end() -> None:
    stretch = SimpleNamespace(since_ms=10_000, until_ms=16_000)
    emitted = [(9_000, 9_600), (11_999, 12_500), (12_000, 12_700), (15_000, 15_600)]
    # Due in the stretch: the windows that end at 12,000 (due 12,500) and at 15,000 (due 15,500).
    assert window_latencies(ENDS, emitted, stretch, PATIENCE_MS) == ([200.0, 100.0], [2_500, 5_500], 0)


def test_one_batch_may_bring_out_several_windows() -> None:
    stretch = SimpleNamespace(since_ms=10_000, until_ms=20_000)
    assert window_latencies(ENDS, [(18_000, 19_000)], stretch, PATIENCE_MS) == (
        [6_500.0, 3_500.0, 500.0],
        [2_500, 5_500, 8_500],
        0,
    )


def test_a_window_not_out_by_the_end_counts_with_the_time_it_has_waited() -> None:
    stretch = SimpleNamespace(since_ms=10_000, until_ms=16_000)
    assert window_latencies(ENDS, [(12_000, 12_700)], stretch, PATIENCE_MS) == ([200.0, 500.0], [2_500, 5_500], 1)
    assert window_latencies(ENDS, [(12_000, 12_700), (15_000, 17_000)], stretch, PATIENCE_MS) == (
        [200.0, 500.0],
        [2_500, 5_500],
        1,
    )


def test_windows_start_where_the_stream_says() -> None:
    stretch = SimpleNamespace(since_ms=10_000, until_ms=14_000)
    # Ends at 10,100 and 13,100, due half a second later.
    assert window_latencies(Grid(3_000, 1_100), [(13_100, 13_900)], stretch, PATIENCE_MS) == (
        [3_300.0, 300.0],
        [600, 3_600],
        0,
    )
