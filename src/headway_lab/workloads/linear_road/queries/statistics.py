"""How fast and how full each segment is, minute by minute."""

from typing import Any

from headway_lab.workloads.linear_road.reports import MINUTE_MS, POSITION, is_type


def segment_statistics(reports: Any, minute_ms: int = MINUTE_MS) -> Any:
    """Per `minute`, `xway`, `dir` and `seg`: the mean of the vehicles' mean speeds, `speed`, and the number of `cars`.

    Vehicles come first, segments second: one that reports twice in a minute counts as much as one that reports once.
    """
    return reports.sparkSession.sql(
        f"""
        with vehicles as (
            select window(event_time, '{minute_ms} milliseconds') as minute, xway, dir, seg, vid, avg(spd) as speed
            from {{reports}} where {is_type(POSITION)} group by 1, 2, 3, 4, 5
        )
        select minute, xway, dir, seg, avg(speed) as speed, count(*) as cars from vehicles group by 1, 2, 3, 4
        """,
        reports=reports,
    )


def average_speed(reports: Any, minute_ms: int = MINUTE_MS) -> Any:
    """Per `five` minutes, each minute anew, `xway`, `dir` and `seg`: the mean `lav` of the minutes that saw a vehicle.

    `cars` are those of the last of the five. Both decide on the toll of the minute that begins where `five` ends.
    """
    return reports.sparkSession.sql(
        f"""
        with minutes as (
            select window(minute, '{5 * minute_ms} milliseconds', '{minute_ms} milliseconds') as five,
                   minute.end as until, xway, dir, seg, speed, cars
            from {{statistics}}
        )
        select five, xway, dir, seg, avg(speed) as lav, sum(if(until = five.end, cars, 0)) as cars
        from minutes group by five, xway, dir, seg
        """,
        statistics=segment_statistics(reports, minute_ms),
    )
