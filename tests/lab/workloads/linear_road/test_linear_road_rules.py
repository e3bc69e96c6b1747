"""The published rules, each on the smallest stretch of road that shows it."""

import pytest

from headway_lab.workloads.linear_road.accidents import HalfMinute, Place, accidents, affected_segments, halves
from headway_lab.workloads.linear_road.accounts import Charge, Crossing, balances, charges, journeys, notices, pressures
from headway_lab.workloads.linear_road.reports import FEET, VehicleReports, columns, recorded_reports
from headway_lab.workloads.linear_road.rules import Price, Statistic, average_speeds, prices, statistics, toll
from lab.workloads.linear_road.roads import joined, needs_real_data, reports, stands

HERE = Place(xway=0, dir=0, lane=2, seg=5, pos=5 * FEET + 100)


def jam(cars: int, spd: int = 20, s: int = 0, seg: int = 5) -> VehicleReports:
    """So many vehicles, numbered from 1000, that crawl through a segment at the same time."""
    return reports(*({"s": s, "vid": 1_000 + i, "spd": spd, "seg": seg} for i in range(cars)))


def test_a_vehicle_that_reports_twice_counts_as_much_as_one_that_reports_once() -> None:
    rows = reports({"s": 0, "vid": 1, "spd": 10}, {"s": 30, "vid": 1, "spd": 20}, {"s": 59, "vid": 2, "spd": 45})

    assert statistics(rows) == {(0, 0, 0, 5): Statistic(speed=30, cars=2)}


def test_the_latest_average_velocity_is_that_of_the_minutes_that_saw_a_vehicle() -> None:
    rows = reports({"s": 10, "spd": 30}, {"s": 130, "spd": 50})
    known = average_speeds(rows)

    assert {start // 60_000: value for (start, *_), value in known.items()} == {
        1: (30, 1), 2: (30, 0), 3: (40, 1), 4: (40, 0), 5: (40, 0), 6: (50, 0), 7: (50, 0),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lav", "cars", "accident", "due"),
    [
        (39.9, 51, False, 2),
        (20, 60, False, 200),
        (40, 60, False, 0),
        (20, 50, False, 0),
        (20, 60, True, 0),
        (None, 60, False, 0),
    ],
)
def test_only_dense_and_slow_traffic_without_an_accident_pays(lav: float, cars: int, accident: bool, due: int) -> None:
    assert toll(lav, cars, accident) == due


def test_two_that_stand_at_one_place_are_an_accident_from_the_fourth_report_of_the_second() -> None:
    first, second = stands(3, 38, 6), stands(4, 63, 6)
    (accident,) = accidents(joined(first, second, reports({"s": 218, "vid": 3, "seg": 6})))

    assert (accident.place, accident.vids) == (HERE, (3, 4))
    assert (accident.detected_ms, accident.cleared_ms) == (153_000, 218_000)


@pytest.mark.parametrize(
    "other", [{"lane": 1}, {"dir": 1}, {"xway": 1}, {"pos": 5 * FEET + 101}], ids=lambda o: next(iter(o))
)  # fmt: skip
def test_those_who_stand_elsewhere_have_no_accident(other: dict[str, int]) -> None:
    assert accidents(joined(stands(3, 0, 6), stands(4, 5, 6, **other))) == []


def test_three_equal_reports_or_a_missed_one_are_no_stop() -> None:
    assert accidents(joined(stands(3, 0, 3), stands(4, 5, 6))) == []
    assert accidents(joined(stands(3, 0, 3), stands(3, 120, 3), stands(4, 5, 9))) == []


def test_one_who_leaves_as_another_stops_has_no_accident_with_it() -> None:
    assert accidents(joined(stands(3, 0, 4), stands(4, 30, 4))) == []
    assert len(accidents(joined(stands(3, 0, 4), stands(4, 29, 4)))) == 1


def test_an_accident_goes_on_while_two_of_three_stand() -> None:
    (accident,) = accidents(joined(stands(1, 0, 4), stands(2, 10, 8), stands(3, 20, 12)))

    assert (accident.detected_ms, accident.cleared_ms, accident.vids) == (100_000, 250_000, (1, 2, 3))


def test_half_minutes_see_an_accident_begin_and_go_on() -> None:
    rows = joined(stands(3, 0, 6), stands(4, 35, 6), reports({"s": 180, "vid": 3, "seg": 6}))

    assert halves(rows) == {
        (120_000, HERE): HalfMinute(since_ms=125_000, fresh=True, vids=(3, 4)),
        (150_000, HERE): HalfMinute(since_ms=150_000, fresh=False, vids=(3, 4)),
    }


def test_an_accident_is_felt_by_those_who_come_upon_it() -> None:
    assert [*affected_segments(0, 8)] == [4, 5, 6, 7, 8]
    assert [*affected_segments(1, 8)] == [8, 9, 10, 11, 12]
    assert [*affected_segments(0, 1)] == [0, 1]
    assert [*affected_segments(1, 98)] == [98, 99]


def test_an_accident_frees_from_toll_from_the_next_minute_until_the_one_after_it_is_cleared() -> None:
    rows = joined(*(jam(60, s=s) for s in range(0, 360, 60)), stands(3, 38, 6), stands(4, 63, 6))
    # Stood at 153 s, gone at 218 s: minutes 2 and 3 see the accident, 3 and 4 feel it.
    known = {start // 60_000: (price.accident, price.toll > 0) for (start, *_), price in prices(rows).items() if _[-1] == 5}

    assert {minute for minute, (accident, _) in known.items() if accident} == {3, 4}
    assert {minute for minute, (_, pays) in known.items() if pays} == {1, 2, 5, 6}


def drive(*segs: int, lane: int = 2, begin: int = 60) -> VehicleReports:
    """Vehicle 1 is in these segments, one report each; the last from `lane`."""
    last = len(segs) - 1
    rows = ({"s": begin + 30 * i, "seg": seg, "lane": lane if i == last else 2} for i, seg in enumerate(segs))
    return reports(*rows)


def test_who_enters_is_told_the_toll_and_pays_when_leaving_for_the_next_segment() -> None:
    rows = joined(jam(60), drive(5, 5, 6))

    assert notices(rows)[Crossing(1, 60_000)].price == Price(lav=20, cars=60, accident=False, toll=200)
    assert {vid for vid, _ in notices(rows)} == {1, *range(1_000, 1_060)}
    assert charges(rows) == {Crossing(1, 120_000): Charge(xway=0, dir=0, seg=5, toll=200)}


def test_who_leaves_by_the_ramp_of_the_segment_or_falls_silent_pays_nothing() -> None:
    assert charges(joined(jam(60), drive(5, 5, lane=4))) == {}
    assert charges(joined(jam(60), drive(5, 5), drive(6, begin=150))) == {}


def test_who_is_on_an_exit_ramp_is_told_nothing_but_pays_for_the_segment_before() -> None:
    rows = joined(jam(60), drive(5, 6, lane=4))

    assert Crossing(1, 90_000) not in notices(rows)
    assert charges(rows)[Crossing(1, 90_000)].toll == 200


def test_balances_are_what_was_paid_and_days_past_are_unknown() -> None:
    asked = [{"s": s, "type": 2, "vid": 1, "qid": s, "xway": -1} for s in (89, 119, 120)]
    asked += [{"s": 150, "type": 3, "vid": 1, "qid": 10 + day, "xway": 0, "day": day} for day in (0, 1, 2)]
    asked += [{"s": 150, "type": 3, "vid": 1, "qid": 20, "xway": 1, "day": 0}]
    rows = joined(jam(60), drive(5, 6), reports(*asked))

    assert balances(rows) == {(2, 89): 0, (2, 119): 0, (2, 120): 200, (3, 10): 200, (3, 11): 0, (3, 12): 0, (3, 20): 0}


def test_a_journey_goes_by_the_latest_speeds_and_the_usual_one_where_none_is_known() -> None:
    there, back = ({"s": 60, "type": 4, "qid": q, "s_init": a, "s_end": b} for q, a, b in [(1, 4, 5), (2, 5, 4)])
    known = journeys(joined(jam(60), reports(there, back)))

    assert known[1].seconds == pytest.approx(3_600 / 20 + 3_600 / 55) and known[1].toll == 200
    assert known[2].seconds == pytest.approx(2 * 3_600 / 55) and known[2].toll == 0


def test_a_pane_of_five_seconds_every_three_seconds_ends_in_one_of_the_last_windows() -> None:
    rows = reports({"s": 4, "vid": 1, "spd": 0}, {"s": 4, "vid": 2, "spd": 60}, {"s": 4, "vid": 3, "seg": 6, "spd": 20})

    assert pressures(rows, 5_000, 3_000) == {(4_000, 0, 0): (3, 1, 20), (7_000, 0, 0): (3, 1, 20)}
    assert pressures(rows, 5_000, 3_000, 1_700) == {(5_700, 0, 0): (3, 1, 20)}


@needs_real_data
def test_the_one_true_accident_of_the_real_input_is_found() -> None:
    (accident,) = accidents(columns(recorded_reports()))

    assert accident.place == Place(xway=0, dir=0, lane=1, seg=8, pos=45_545)
    assert (accident.vids, accident.detected_ms) == ((3, 4), 153_000)


@needs_real_data
def test_nobody_pays_in_the_real_input_but_those_behind_the_accident_are_warned() -> None:
    rows = columns(recorded_reports())
    warned = [(notice, at) for (_, at), notice in notices(rows).items() if notice.price.accident]

    assert charges(rows) == {}
    assert {notice.seg for notice, _ in warned} == {4, 5, 6, 7, 8}
    assert {notice.dir for notice, _ in warned} == {0}
    assert min(at for _, at in warned) >= 180_000  # the minute after that of the 153rd second
