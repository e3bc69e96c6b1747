"""Whatever a user writes above or below the watermark, control rows get through, and results are those of a batch job."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted import Stage

pytestmark = pytest.mark.spark

Plan = Callable[[Any, Any, Any], Any]
RANGE = "tb BETWEEN ta - interval 2 seconds AND ta + interval 2 seconds"


def left(a: Any) -> Any:
    return a.selectExpr("ts as ta", "k as ka", "v as va")


def right(b: Any) -> Any:
    return b.selectExpr("ts as tb", "k as kb", "v as vb")


def counted(frame: Any, column: str = "ts", size: str = "3 seconds", *more: str) -> Any:
    from pyspark.sql import functions as F

    return frame.groupBy(F.window(column, size, *more), *[c for c in ("k", "ka") if c in frame.columns]).count()


def session(a: Any) -> Any:
    from pyspark.sql import functions as F

    return a.groupBy(F.session_window("ts", "2 seconds"), "k").count()


def chained(a: Any) -> Any:
    from pyspark.sql import functions as F

    inner = a.groupBy(F.window("ts", "2 seconds"), "k").count()
    return inner.groupBy(F.window(F.window_time("window"), "6 seconds")).agg(F.sum("count").alias("n"))


def by_sql(a: Any, spark: Any) -> Any:
    a.createOrReplaceTempView("rows_of_a")
    return spark.sql("select window(ts, '3 seconds') as window, k, sum(v) as s from rows_of_a where v > 0 group by 1, 2")


def static_keys(spark: Any) -> Any:
    return spark.createDataFrame([(1, "one"), (2, "two")], "k int, name string")


PLANS: dict[str, Plan] = {
    "tumbling": lambda a, b, s: counted(a),
    "sliding": lambda a, b, s: counted(a, "ts", "4 seconds", "2 seconds", "1 second"),
    "session": lambda a, b, s: session(a),
    "filter above on another column": lambda a, b, s: counted(a.where("k < 2")),
    "filter above that no control row passes": lambda a, b, s: counted(a.where("v is not null and k + v > 0")),
    "only the time column is used": lambda a, b, s: counted(a.select("ts")),
    "time column renamed above": lambda a, b, s: counted(a.selectExpr("ts as at", "k"), "at"),
    "computed columns": lambda a, b, s: counted(a.selectExpr("ts", "k * 2 as k", "upper(cast(v as string)) as w")),
    "inner join": lambda a, b, s: left(a).join(right(b), _on()),
    "inner join, then windows": lambda a, b, s: counted(left(a).join(right(b), _on()), "ta"),
    "left outer join": lambda a, b, s: left(a).join(right(b), _on(), "left_outer"),
    "right outer join": lambda a, b, s: left(a).join(right(b), _on(), "right_outer"),
    "full outer join": lambda a, b, s: left(a).join(right(b), _on(), "full_outer"),
    "left semi join": lambda a, b, s: left(a).join(right(b), _on(), "left_semi"),
    "self join": lambda a, b, s: left(a).join(right(a), _on()),
    "union of two inputs": lambda a, b, s: counted(a.union(b)),
    "union of an input with itself": lambda a, b, s: counted(a.union(a)),
    "join with a static table": lambda a, b, s: a.join(static_keys(s), "k").groupBy("name", _window()).count(),
    "duplicates dropped": lambda a, b, s: a.dropDuplicates(["k", "ts"]),
    "duplicates dropped, then windows": lambda a, b, s: counted(a.dropDuplicates(["k", "ts"])),
    "two windows in a chain": lambda a, b, s: chained(a),
    "no state at all": lambda a, b, s: a.selectExpr("ts", "k + 1 as k").where("k > 1"),
    "sql over a view": lambda a, b, s: by_sql(a, s),
}


def _on() -> Any:
    from pyspark.sql import functions as F

    return F.expr("ka = kb AND " + RANGE)


def _window() -> Any:
    from pyspark.sql import functions as F

    return F.window("ts", "3 seconds")


@pytest.fixture
def stage(spark: Any, tmp_path: Path) -> Iterator[Stage]:
    made = Stage(spark, tmp_path, ("a", "b"))
    yield made
    made.close()


@pytest.mark.parametrize("name", list(PLANS))
def test_every_plan_gives_the_results_of_a_batch_job(stage: Stage, name: str) -> None:
    plan = PLANS[name]
    stage.put("a", [{"ts": 1, "k": 1, "v": 1.0}, {"ts": 2, "k": 2, "v": 2.0}, {"ts": 2, "k": 2, "v": 2.0}])
    stage.put("b", [{"ts": 1.5, "k": 1, "v": 5.0}])
    stage.start(plan(stage.watermarked("a"), stage.watermarked("b"), stage.spark))
    stage.step(None)
    stage.put("a", [{"ts": 4, "k": 1, "v": None}, {"ts": 0.5, "k": 3, "v": -1.0}])
    stage.put("b", [{"ts": 2.2, "k": 2, "v": 6.0}, {"ts": 30, "k": 9, "v": 6.0}])
    stage.step(3)
    # Announced, and swept only by the coming batch: rows before it still count, and the watermark is exact.
    stage.put("a", [{"ts": 2.9, "k": 1, "v": 1.0}, {"ts": 7, "k": 2, "v": 2.0}])
    stage.put("b", [{"ts": 6.5, "k": 2, "v": 7.0}])
    stage.step(6)
    assert stage.watermark_s == 3
    stage.step(1000)
    stage.step(2000)
    stage.step(None)

    assert stage.watermark_s in (1000, 2000)  # 1000 if Spark found no state left to sweep
    expected = plan(stage.static("a"), stage.static("b"), stage.spark).collect()
    assert stage.out() == sorted(map(repr, expected))
    assert not [n for n in stage.notes() if "did not take" in n]
