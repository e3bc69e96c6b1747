"""What comes of a live wide area, out of what was sent and what came out; and what happens to it in mid-run."""

from headway_lab.experiments.wan_live.disturbance import WanLiveCase
from headway_lab.experiments.wan_live.run import caught_up, figures
from headway_lab.experiments.wan_live.views import DeliveredPane, Views


def windows(upto_s: int) -> Views:
    return {(second * 1_000, 1): 10 for second in range(5, upto_s + 1, 5)}


def out(true: Views, late_ms: int) -> list[DeliveredPane]:
    return [DeliveredPane(until, group, n, until + late_ms) for (until, group), n in true.items()]


def test_a_run_that_keeps_up_has_processed_everything_on_time() -> None:
    true = windows(180)
    found = out(true, 2_000)
    seen = [one for one in found if one.at_ms <= 180_000]
    told = figures(found, seen, true, 180_000, 200_000)
    assert told["on_time"] == 1.0 and told["delay_s"] == told["worst_s"] == 2.0
    assert told["processing"] == 1.0


def test_a_run_that_fell_behind_is_late_by_as_long_as_it_was_waited_for() -> None:
    true = windows(180)
    found = out(windows(100), 2_000)
    told = figures(found, found, true, 180_000, 300_000)
    assert told["on_time"] == 0.0 and told["processing"] == 0.0
    assert told["worst_s"] == 300 - 105 and told["delay_s"] == 300 - (125 + 180) / 2


def test_a_fault_is_caught_up_with_when_the_last_late_window_is_out() -> None:
    true = windows(180)
    during = [DeliveredPane(u, g, n, 130_000 if 60_000 < u <= 120_000 else u + 1_000) for (u, g), n in true.items()]
    assert caught_up(during, 120_000, 180_000) == 10.0
    assert caught_up(out(true, 1_000), 120_000, 180_000) == 0.0
    assert caught_up(during, 120_000, 60_000) == 0.0, "only windows up to there are looked at"


def test_rates_double_unless_a_fault_is_what_happens() -> None:
    assert len(WanLiveCase().streams(0, 1, 0)) == 2
    assert [one.seconds for one in WanLiveCase(fault="link").streams(0, 1, 0)] == [180]
