"""Answers to what vehicles ask: their balance (type 2), a day's expenditure (type 3), a journey's time (type 4).

The benchmark answers types 3 and 4 from ten weeks of history, which is not published. Without it, an expenditure
is known for the current day only (`day` 0; of any other we know nothing and say 0), and a journey is estimated from what
the segments are like now.
"""

from typing import Any

from headway_lab.workloads.linear_road.reports import BALANCE, EXPENDITURE, MINUTE_MS, TRAVEL, is_type
from headway_lab.workloads.linear_road.rules import UNKNOWN_MPH

HORIZON_MS = 180 * MINUTE_MS  # as long as the benchmark runs


def balances(reports: Any, charges: Any, minute_ms: int = MINUTE_MS, horizon_ms: int | None = None) -> Any:
    """Per request of type 2 or 3: `qid`, `vid`, and what was paid before the half minute of the request, as `balance`.

    `charges` is a stream of its own, with the watermarked column `slot` that the query `charges` gives it: a query that
    keeps the accounts need not compute the tolls. Accounts reach back `horizon_ms`, three hours unless told, so that
    state has an end.
    """
    half_ms = minute_ms // 2
    back_s = (HORIZON_MS * minute_ms // MINUTE_MS if horizon_ms is None else horizon_ms) / 1_000
    asked = reports.sparkSession.sql(
        f"""
        select window(event_time, '{half_ms} milliseconds') as half, type, qid, vid, xway, day
        from {{reports}} where {is_type(BALANCE, EXPENDITURE)} group by 1, 2, 3, 4, 5, 6
        """,
        reports=reports,
    ).selectExpr("window_time(half) as slot", "type", "qid", "vid", "xway", "day")
    paid = reports.sparkSession.sql(
        f"""
        select a.slot, a.type, a.qid, a.vid, p.toll
        from {{asked}} a left join {{charges}} p
          on a.vid = p.vid and p.slot < a.slot and p.slot > a.slot - interval '{back_s:.3f}' second
         and (a.type = 2 or (a.day = 0 and a.xway = p.xway))
        """,
        asked=asked,
        charges=charges,
    )
    return reports.sparkSession.sql(
        f"""
        select window(slot, '{half_ms} milliseconds') as half, type, qid, vid, coalesce(sum(toll), 0L) as balance
        from {{paid}} group by 1, 2, 3, 4
        """,
        paid=paid,
    )


def travel_times(reports: Any, segment_tolls: Any, minute_ms: int = MINUTE_MS) -> Any:
    """Per request of type 4: `qid`, `vid`, the `seconds` and the `toll` of the way from `s_init` to `s_end`.

    `segment_tolls` is a stream with the watermarked column `minute`. A segment of which nothing is known
    is taken to be driven at the usual speed, for nothing. Seconds are those of the benchmark, however fast the replay.
    """
    minute = f"interval '{minute_ms / 1000:.3f}' second"
    way = reports.where(is_type(TRAVEL)).selectExpr(
        "event_time", "qid", "vid", "xway", "if(s_init <= s_end, 0, 1) as dir", "explode(sequence(s_init, s_end)) as seg"
    )
    parts = reports.sparkSession.sql(
        f"""
        select w.event_time, w.qid, w.vid, coalesce(t.toll, 0L) as toll,
               3600 / greatest(coalesce(t.lav, {UNKNOWN_MPH}), 1) as seconds
        from {{way}} w left join {{tolls}} t
          on w.xway = t.xway and w.dir = t.dir and w.seg = t.seg
         and w.event_time > t.seen and w.event_time <= t.seen + {minute}
        """,
        way=way,
        tolls=segment_tolls.selectExpr("window_time(minute) as seen", "xway", "dir", "seg", "lav", "toll"),
    )
    return reports.sparkSession.sql(
        f"""
        select window(event_time, '{minute_ms} milliseconds') as minute, qid, vid,
               sum(seconds) as seconds, sum(toll) as toll
        from {{parts}} group by 1, 2, 3
        """,
        parts=parts,
    )
