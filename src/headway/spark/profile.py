"""The settings that suit a streaming query of small batches, given to that query alone.

Spark gives every streaming query a copy of its session's settings when it starts. So ours are set for just that moment, and
the session, with the user's own SQL, stays as it was. What the user has set is never touched.
"""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headway.errors import SettingError
from headway.spark import jvm
from headway.spark.writer import field_of, set_field

PARTITIONS = "spark.sql.shuffle.partitions"
ROWS = "spark.headway.rowsPerBatch"  # how many rows a usual batch of this session has
OWN = "spark.headway.tune"  # "false" leaves the settings of queries to the session
# What suits many small batches. Each of these moves stock Spark as well as Headway; `headway bench` gives both the same.
# `docs/session.md` has the gain of each.
TUNED = {
    # Spark's own writers fork `chmod` for every file of a checkpoint, a dozen for each batch; this one does not.
    "spark.sql.streaming.checkpointFileManagerClass": jvm.CHECKPOINTS,
    # With one partition `rt.watermark` makes a batch one task that shuffles nothing; queries run side by side instead.
    PARTITIONS: "1",
    # Spark serialises a batch's plan half a dozen times, and most of its bytes are the logical plan, which no task needs.
    "spark.headway.lean": "true",
    # Where a shuffle turns out empty Spark would forget what is below it: the watermark, and how many rows had come.
    "spark.sql.adaptive.streaming.stateless.enabled": "false",
}
NEED_JAR = ("spark.sql.streaming.checkpointFileManagerClass", "spark.headway.lean")
INTERPRETED = {
    # A watermark is a constant in generated code and changes with every batch: each batch would compile anew.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Without generated code, looking up a common subexpression costs more, for every row, than computing it again.
    "spark.sql.subexpressionElimination.enabled": "false",
}
# Those that are read when a plan is made. The others are read by tasks, which do the stream's work and the user's in one.
OF_PLANS = (PARTITIONS, "spark.sql.codegen.wholeStage", "spark.sql.subexpressionElimination.enabled")
USUAL_ROWS = 1_000
CODE_PAYS_ROWS = 100_000  # from so many rows a batch on, generated code is worth its compilation (docs/session.md)
# What sessions have from us while queries start in them, and how many do; by the session's own hash.
_LENT: dict[int, tuple[dict[str, str], int]] = {}
_CHANGED = threading.Condition()


@dataclass(frozen=True, slots=True)
class Profile:
    """How batches of about so many rows are run."""

    rows: int = USUAL_ROWS

    def __post_init__(self) -> None:
        check_rows(self.rows)

    @property
    def large(self) -> bool:
        return self.rows >= CODE_PAYS_ROWS

    @property
    def settings(self) -> dict[str, str]:
        return TUNED | ({} if self.large else INTERPRETED)

    def says(self, partitions: str) -> str:
        """What was chosen, and why, in one line."""
        code = "generated code" if self.large else "no generated code"
        tasks = "one task a batch" if partitions == "1" and not self.large else f"state in {partitions} partitions"
        return f"{code}, {tasks}: about {self.rows:,} rows a batch are expected"


def check_rows(rows: Any) -> None:
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1:
        raise SettingError("rows_per_batch", rows, "the rows that a usual batch has, 1 or more")


def usual(spark: Any) -> Profile:
    """What is expected of this session's batches unless an input says otherwise."""
    told = spark.conf.get(ROWS, str(USUAL_ROWS))
    return Profile(int(told) if told.isdecimal() else told)


def chosen(spark: Any, profile: Profile) -> dict[str, str]:
    """Of a profile's settings, those that the user has not set."""
    if spark.conf.get(OWN, "true") == "false":
        return {}
    has_jar, known = jvm.present(spark), spark._jsparkSession.sessionState().conf()
    with _CHANGED:  # what we have lent the session for the moment is not the user's
        lent, _ = _LENT.get(_id(spark), ({}, 0))
        free = [key for key in profile.settings if key in lent or not known.contains(key)]
    return {key: profile.settings[key] for key in free if has_jar or key not in NEED_JAR}


def partitions(spark: Any, profile: Profile) -> str:
    """Into how many partitions a new query's state is put."""
    return chosen(spark, profile).get(PARTITIONS) or str(spark.conf.get(PARTITIONS))


def profile_of(spark: Any, rows_per_batch: int | None) -> Profile:
    return usual(spark) if rows_per_batch is None else Profile(rows_per_batch)


def one_task(spark: Any, profile: Profile) -> bool:
    """With one partition a batch is aggregated by one task anyway; unless it is large, that reads the rows as well."""
    return not profile.large and partitions(spark, profile) == "1"


@contextlib.contextmanager
def settled(spark: Any, profile: Profile) -> Iterator[None]:
    """A query that starts in here has the profile's settings; the session has them for just that long.

    Starts with the same settings run side by side, so that one which hangs keeps only those with others waiting.
    """
    session, ours = _id(spark), chosen(spark, profile)
    with _CHANGED:
        _CHANGED.wait_for(lambda: _LENT.get(session, (ours, 0))[0] == ours)
        _, starts = _LENT.get(session, (ours, 0))
        _LENT[session] = ours, starts + 1
        if not starts:
            for key, value in ours.items():
                spark.conf.set(key, value)
    try:
        yield
    finally:
        with _CHANGED:
            _, starts = _LENT.pop(session)
            if starts > 1:
                _LENT[session] = ours, starts - 1
            else:
                for key in ours:
                    spark.conf.unset(key)
            _CHANGED.notify_all()


def _id(spark: Any) -> int:
    """Of the session in the JVM: Python may have several objects for it."""
    return int(spark._jsparkSession.hashCode())


def own_work(writer: Any, profile: Profile) -> None:
    """What the writer's `foreachBatch` does is the user's own work: it goes by the session's settings, as in stock Spark."""
    session = writer._df.sparkSession
    ours = [key for key in chosen(session, profile) if key in OF_PLANS]
    work = field_of(writer, "foreachBatchWriter")
    if ours and work is not None and jvm.present(session) and "headway" not in work.getClass().getName():
        set_field(writer, "foreachBatchWriter", session._jvm.headway.OwnWork(work, ",".join(ours)))
