"""Where at least two vehicles stand at one place at one time.

A vehicle has stopped once four consecutive reports name one place. We look at the last five half minutes, anew
each half minute: a vehicle with five reports from one place has stood during all of the last half minute, one with
four has either just stopped in it or left in it. So no state outlives five half minutes, and an accident is told while
it lasts, not when it ends, as it would be with session windows.

This is exact for vehicles that report on the dot, as those of the benchmark do, and whose silence means that they left.
"""

from typing import Any

from headway_lab.workloads.linear_road.reports import MINUTE_MS, POSITION, is_type

PLACE = "xway, dir, lane, seg, pos"


def accidents(reports: Any, minute_ms: int = MINUTE_MS) -> Any:
    """Per half minute and place with an accident: `since_ms` when in it, whether that is `fresh`, and which `vids` stood.

    `half` is the window of five half minutes whose last one is meant: an event time, for operators that follow.
    """
    half_ms = minute_ms // 2
    half = f"interval '{half_ms / 1000:.3f}' second"
    return reports.sparkSession.sql(
        f"""
        with seen as (
            select window(event_time, '{5 * half_ms} milliseconds', '{half_ms} milliseconds') as half, vid, {PLACE},
                   count(*) as times, min(event_time) as first, max(event_time) as last
            from {{reports}} where {is_type(POSITION)} group by 1, 2, 3, 4, 5, 6, 7
        ),
        stopped as (
            select half, vid, {PLACE}, half.end - {half} as begin, last,
                   times > 4 or last < half.end - {half} as before,
                   if(last < half.end - {half}, last + {half}, half.end) as until
            from seen where times >= 4 and unix_millis(last) - unix_millis(first) < times * {half_ms}
        ),
        crowds as (
            -- Those who stood when the half minute began, how long, and the moments at which others stopped.
            select half, {PLACE}, count_if(before) as standing, max(if(before, until, null)) as until,
                   sort_array(collect_list(if(before, null, last))) as later, sort_array(collect_list(vid)) as vids
            from stopped where until > begin group by half, {PLACE}
        ),
        told as (
            select *, case when standing >= 2 then half.end - {half}
                           when standing = 1 and get(later, 0) < until then get(later, 0)
                           else get(later, 1) end as since
            from crowds
        )
        select half, {PLACE}, unix_millis(since) as since_ms, standing < 2 as fresh, vids from told where since is not null
        """,
        reports=reports,
    )
