"""The query that the Klink paper presses on: sliding windows, a three-way join, and a last window that is due sooner."""

from typing import Any

from headway_lab.workloads.linear_road.reports import POSITION, is_type

SIZE_MS, SLIDE_MS = 5_000, 3_000


def pressure(reports: Any, size_ms: int = SIZE_MS, slide_ms: int = SLIDE_MS, offset_ms: int = 0) -> Any:
    """Per `window` of a third of a slide, `xway` and `dir`: the `cars`, how many reports were `stopped`, lowest `speed`.

    Three sub-streams are made of the reports, each over the same sliding windows: mean speeds, numbers of cars, and
    reports with speed 0, per segment. They are joined by window and segment, and the joined segments are summed up over
    tumbling windows a third as long as the slide, every third of which ends where a sliding one does. `offset_ms` moves
    all windows, so that many such queries need not be due together.
    """
    last_ms = slide_ms // 3
    sliding = _window("event_time", size_ms, slide_ms, offset_ms) + " as pane"
    sql = reports.sparkSession.sql
    reports = reports.where(is_type(POSITION))
    speeds = sql(f"select {sliding}, xway, dir, seg, avg(spd) as speed from {{r}} group by 1, 2, 3, 4", r=reports)
    vehicles = sql(f"select {sliding}, xway, dir, seg, vid from {{r}} group by 1, 2, 3, 4, 5", r=reports)
    cars = sql("select pane, xway, dir, seg, count(*) as cars from {v} group by 1, 2, 3, 4", v=vehicles)
    stopped = sql(
        f"select {sliding}, xway, dir, seg, count_if(spd = 0) as stopped from {{r}} group by 1, 2, 3, 4",
        r=reports,
    )
    segments = speeds.join(cars, ["pane", "xway", "dir", "seg"]).join(stopped, ["pane", "xway", "dir", "seg"])
    return sql(
        f"""
        select {_window("window_time(pane)", last_ms, last_ms, size_ms + offset_ms)} as window, xway, dir,
               sum(cars) as cars, sum(stopped) as stopped, min(speed) as speed
        from {{segments}} group by 1, 2, 3
        """,
        segments=segments,
    )


def _window(time: str, size_ms: int, slide_ms: int, offset_ms: int) -> str:
    """The SQL for windows that begin at whole multiples of the slide plus the offset."""
    return f"window({time}, '{size_ms} milliseconds', '{slide_ms} milliseconds', '{offset_ms % slide_ms} milliseconds')"
