"""What a batch tells of its rows: counted before any aggregation, for every row, so it asks for little.

With Headway's jar it is one pass (`jvm/headway/Tallied.java`). Where there is no jar Spark's own aggregates say the same, at
a higher price.
"""

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from headway.loop.liveness import LEAD_MS
from headway.loop.sampler import CELL_MS
from headway.spark.plan import quoted

NEWEST, FASTEST, DELAYS = "newest_", "fastest_", "delays_"  # metrics of one partition
FUTURE = "future"  # metric: rows beyond the horizon
TALLY = "tally"  # metric: all of them in one, as JSON
BINS, PART_BINS, OLD_BINS = 32, 16, 128


@dataclass(frozen=True)
class Names:
    """Columns that rows have from us, all of them empty in control rows."""

    mark: str
    at: str
    delay: str
    part: str
    value: str
    group: str
    future: str


@dataclass(frozen=True)
class Tally:
    """Of which rows what is told."""

    names: Names
    time: str
    arrival: str | None
    beyond: Column | None  # whether a row is
    least_ms: int  # rows older than this are told by the moments they are of
    parts: int  # frontiers that are kept apart; 0: none
    tails: bool  # and the delays of each

    def in_one_pass(self, jvm: Any) -> list[Column]:
        part = F.col(self.names.part) if self.parts else F.lit(None).cast("int")
        arguments = jvm.PythonUtils.toSeq([column._jc for column in (*self.asked(), part)])
        made = jvm.headway.Tallied.column(arguments, LEAD_MS, self.least_ms, CELL_MS, self.parts, self.tails)
        return [Column(made).alias(TALLY)]

    def asked(self) -> tuple[Column, ...]:
        """What a tally in one pass asks of every row, in its order."""
        never = F.lit(None).cast("timestamp")
        future = never if self.beyond is None else F.col(self.names.future)
        arrival = never if self.arrival is None else F.col(quoted(self.arrival))
        return F.col(self.names.mark), F.col(quoted(self.time)), future, arrival, F.current_timestamp()

    def columns(self) -> dict[str, tuple[str, Column]]:
        """What Spark's aggregates need rows to have, by name: its type and itself."""
        moment = F.unix_millis(F.col(quoted(self.time)))  # Spark would cut a timestamp to seconds
        moment = moment if self.beyond is None else F.when(~self.beyond, moment)
        delay = (_came(self.arrival) - moment).cast("double")
        return {self.names.at: ("long", moment), self.names.delay: ("double", delay)}

    def by_aggregates(self) -> list[Column]:
        """Control rows are empty in all of our columns, which aggregates pass over by themselves."""
        moment, now = F.col(self.names.at), F.unix_millis(F.current_timestamp())
        cell = F.when(moment < now - self.least_ms, F.floor(moment / CELL_MS))
        return [
            F.count(self.names.mark).alias("rows"),
            # A row that could not be read has no event time, and every window would drop it unseen.
            F.count(self.names.at).alias("timed"),
            F.max(F.when(moment <= now + LEAD_MS, moment)).alias("newest"),
            F.max(moment).alias("foremost"),
            F.min(moment).alias("oldest"),
            F.histogram_numeric(F.col(self.names.delay), F.lit(BINS)).alias("delays"),
            F.histogram_numeric(cell, F.lit(OLD_BINS)).alias("old"),
            *self._of_parts(),
            *([] if self.beyond is None else [F.count(self.names.future).alias(FUTURE)]),
        ]

    def _of_parts(self) -> list[Column]:
        of = [F.col(self.names.part) == k for k in range(self.parts)]
        moment, now, delay = F.col(self.names.at), F.unix_millis(F.current_timestamp()), F.col(self.names.delay)
        return [
            *[F.max(F.when(mine & (moment <= now + LEAD_MS), moment)).alias(f"{NEWEST}{k}") for k, mine in enumerate(of)],
            *[F.min(F.when(mine, delay)).alias(f"{FASTEST}{k}") for k, mine in enumerate(of)],
            *[
                F.histogram_numeric(F.when(mine, delay), F.lit(PART_BINS)).alias(f"{DELAYS}{k}")
                for k, mine in enumerate(of)
                if self.tails
            ],
        ]


def _came(arrival: str | None) -> Column:
    """When a row came. The moment of reading stands for it if no column says: then the wait in the queue is in its delay."""
    now = F.unix_millis(F.current_timestamp())
    if arrival is None:
        return now
    stamped = F.unix_millis(F.col(quoted(arrival)))
    # Kafka says "one millisecond before 1970" of a record without a timestamp.
    return F.when(stamped >= 0, stamped).otherwise(now)
