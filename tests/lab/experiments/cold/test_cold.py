"""When a cold start is over."""

from headway_lab.experiments.cold.run import on_time
from headway_lab.harness.bench import Run
from headway_lab.harness.setting import Setting


def run(*windows: tuple[int, float]) -> Run:
    due, late = zip(*windows, strict=True) if windows else ((), ())
    return Run("klink", Setting(queries=2), 1, list(late), list(due), 0, 1, 1, 0, 0, 0.0, 0.0, 0.0)


def test_the_first_window_on_time_counts_when_it_is_out() -> None:
    assert on_time(run((1_000, 2_000.0), (4_000, 100.0), (5_000, 900.0)), 500)[0] == 4.1


def test_all_are_on_time_once_every_query_had_a_window_that_was() -> None:
    windows = [
        (1_000, 2_000.0),
        (2_000, 100.0),
        (4_000, 600.0),
        (5_000, 80.0),
        (7_000, 90.0),
        (8_000, 300.0),
        (10_000, 50.0),
    ]
    assert on_time(run(*windows), 500) == (2.1, 7.09)


def test_a_stretch_that_the_end_cut_short_does_not_count() -> None:
    assert on_time(run((1_000, 900.0), (2_000, 100.0)), 500) == (2.1, None)


def test_nothing_on_time_is_none() -> None:
    assert on_time(run((1_000, 900.0)), 500) == (None, None)
    assert on_time(run(), 500) == (None, None)
