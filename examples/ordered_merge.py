"""Congestion from two streams, in the order of time: a bus that crawls where the road had counted many cars just before.

python examples/ordered_merge.py
"""

from datetime import timedelta
from typing import Any

import headway as hw

JUST_BEFORE = timedelta(seconds=5)


def congestion(area: str, rows: list[Any], busy_at: Any) -> tuple[list[tuple[Any, ...]], Any]:
    """Rows of one area, oldest first; what is remembered of it is when its road was last full."""
    events = []
    for row in rows:
        if row.cars is not None and row.cars > 80:
            busy_at = row.event_time
        elif row.speed is not None and row.speed < 10 and busy_at is not None and row.event_time - busy_at <= JUST_BEFORE:
            events.append((area, row.event_time, row.speed, row.late))
    return events, busy_at


spark = hw.session("ordered-merge")
rt = hw.Runtime(spark)

ticks = spark.readStream.format("rate").option("rowsPerSecond", "50").load()
bus = ticks.selectExpr("concat('area-', value % 4) as area", "timestamp as event_time", "double(value * 7 % 60) as speed")
road = ticks.selectExpr("concat('area-', value % 3) as area", "timestamp as event_time", "int(value * 11 % 100) as cars")

events = rt.merge(
    [bus, road],
    on="area",
    time="event_time",
    slt="2 s",
    step=congestion,
    output="area string, at timestamp, speed double, late boolean",
)
rt.start(events.writeStream.format("memory"), name="congestion", every="1 s")

rt.await_termination(timeout_s=20)
rt.stop()
spark.table("congestion").orderBy("at").show(truncate=False)
spark.stop()
