"""What a segment costs in a minute, who is told so, and who pays.

Vehicles that change segment are told the toll of the new one. They pay it when they leave it for the next.
"""

from typing import Any

from headway_lab.workloads.linear_road.accidents import REACH
from headway_lab.workloads.linear_road.queries.accidents import accidents
from headway_lab.workloads.linear_road.queries.statistics import average_speed
from headway_lab.workloads.linear_road.reports import EXIT, MINUTE_MS, POSITION, SEGMENTS, is_type
from headway_lab.workloads.linear_road.rules import FREE_CARS, FREE_MPH

STAY_MS = 20 * MINUTE_MS


def segment_tolls(reports: Any, minute_ms: int = MINUTE_MS) -> Any:
    """Per minute, `xway`, `dir` and `seg`: `lav`, `cars`, whether an `accident` is near, and the `toll`.

    `minute` is the minute that was looked at; the toll is that of the minute after, in which it is not waited for.
    Speeds and accidents meet in one group, not in an outer join: a segment may lack either.
    """
    minute = f"'{minute_ms} milliseconds'"
    return reports.sparkSession.sql(
        f"""
        with both as (
            select window(window_time(five), {minute}) as minute, xway, dir, seg, lav, cars, false as accident
            from {{speeds}}
            union all
            select window(window_time(half), {minute}) as minute, xway, dir, explode(sequence(
                       if(dir = 0, greatest(seg - {REACH - 1}, 0), seg),
                       if(dir = 0, seg, least(seg + {REACH - 1}, {SEGMENTS - 1}))
                   )) as seg, cast(null as double) as lav, 0L as cars, true as accident
            from {{accidents}}
        ),
        segments as (
            select minute, xway, dir, seg, max(lav) as lav, max(cars) as cars, bool_or(accident) as accident
            from both group by minute, xway, dir, seg
        )
        select *, if(lav < {FREE_MPH} and cars > {FREE_CARS} and not accident,
                     2 * (cars - {FREE_CARS}) * (cars - {FREE_CARS}), 0L) as toll
        from segments
        """,
        speeds=average_speed(reports, minute_ms),
        accidents=accidents(reports, minute_ms),
    )


def crossings(reports: Any, minute_ms: int = MINUTE_MS) -> Any:
    """The reports from another segment than the vehicle's report before, or with none half a minute before.

    `at_ms` is the report's time; `slot`, the last moment of its half minute, is the event time for operators that follow.
    """
    half_ms = minute_ms // 2
    return reports.sparkSession.sql(
        f"""
        with pairs as (
            select window(event_time, '{2 * half_ms} milliseconds', '{half_ms} milliseconds') as two, vid,
                   max(struct(event_time, xway, dir, seg, lane)) as here,
                   min(struct(event_time, xway, dir, seg, lane)) as before
            from {{reports}} where {is_type(POSITION)} group by 1, 2
        ),
        told as (
            select *, unix_millis(here.event_time) - unix_millis(before.event_time) as gap from pairs
            where here.event_time >= two.end - interval '{half_ms / 1000:.3f}' second
        ),
        known as (select *, gap between 1 and {half_ms} as follows from told)
        select window_time(two) as slot, vid, unix_millis(here.event_time) as at_ms,
               here.xway, here.dir, here.seg, here.lane,
               if(follows, before.xway, null) as left_xway, if(follows, before.dir, null) as left_dir,
               if(follows, before.seg, null) as left_seg
        from known
        where not follows or struct(here.xway, here.dir, here.seg) != struct(before.xway, before.dir, before.seg)
        """,
        reports=reports,
    )


def tolls(reports: Any, minute_ms: int = MINUTE_MS) -> Any:
    """What each vehicle is told `at_ms`, when it enters a segment: `lav`, `cars`, whether an `accident` is near, `toll`.

    An outer join: the first vehicle in a segment is told that it costs nothing.
    """
    return reports.sparkSession.sql(
        f"""
        select c.slot, c.vid, c.at_ms, c.xway, c.dir, c.seg, t.lav, coalesce(t.cars, 0L) as cars,
               coalesce(t.accident, false) as accident, coalesce(t.toll, 0L) as toll
        from {{crossings}} c left join {{tolls}} t
          on c.xway = t.xway and c.dir = t.dir and c.seg = t.seg
         and c.slot > t.seen and c.slot <= t.seen + interval '{minute_ms / 1000:.3f}' second
        """,
        crossings=crossings(reports, minute_ms).where(f"lane != {EXIT}"),
        tolls=segment_tolls(reports, minute_ms).selectExpr("window_time(minute) as seen", "*").drop("minute"),
    )


def charges(reports: Any, minute_ms: int = MINUTE_MS, stay_ms: int | None = None) -> Any:
    """The tolls that are paid: `vid` leaves a segment `at_ms` for the next and pays the `toll` it was told on entry.

    A vehicle may take up to `stay_ms` for a segment, 20 minutes unless told, and should not be back sooner.
    """
    stay_s = (STAY_MS * minute_ms // MINUTE_MS if stay_ms is None else stay_ms) / 1_000
    return reports.sparkSession.sql(
        f"""
        select l.slot, l.vid, l.at_ms, l.left_xway as xway, l.left_dir as dir, l.left_seg as seg, t.toll
        from {{leaving}} l join {{told}} t
          on l.vid = t.vid and l.left_xway = t.xway and l.left_dir = t.dir and l.left_seg = t.seg
         and t.slot < l.slot and l.slot <= t.slot + interval '{stay_s:.3f}' second
        """,
        leaving=crossings(reports, minute_ms).where("left_seg is not null"),
        told=tolls(reports, minute_ms).where("toll > 0").selectExpr("slot", "vid", "xway", "dir", "seg", "toll"),
    )
