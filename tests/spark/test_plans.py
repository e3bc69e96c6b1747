"""Whatever a user writes above or below the watermark, control rows get through, and results are those of a batch job."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spark.scripted import Stage

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


def added(rows: Any) -> Any:
    def add(parts: Any) -> Any:  # not of this module, which Spark's workers do not have
        for part in parts:
            yield part.assign(k=part.k + 10)

    return rows.select("k").mapInPandas(add, "k int")


def keyed(a: Any, s: Any, hint: str, how: str = "inner") -> Any:
    return a.join(static_keys(s).hint(hint), "k", how)


# Spark adapts such plans while they run, stage by stage, if they have an exchange or a subquery; those with state never.
STATELESS: dict[str, Plan] = {
    "repartitioned": lambda a, b, s: a.repartition(4).where("k > 0"),
    "repartitioned by a column": lambda a, b, s: a.repartition(3, "k").selectExpr("ts", "k + 1 as k"),
    "repartitioned twice": lambda a, b, s: a.repartition(4).where("v > 0").repartition(2, "k"),
    "coalesced": lambda a, b, s: a.repartition(4).coalesce(2).where("k < 3"),
    "coalesced only": lambda a, b, s: a.coalesce(1).where("k < 3"),
    "union repartitioned": lambda a, b, s: a.union(b).repartition(2),
    "broadcast join with a static table": lambda a, b, s: keyed(a, s, "broadcast"),
    "merge join with a static table": lambda a, b, s: keyed(a, s, "merge", "left_outer"),
    "hash join with a static table": lambda a, b, s: keyed(a, s, "shuffle_hash"),
    "semi join with a static table": lambda a, b, s: keyed(a, s, "merge", "left_semi"),
    "join with a cached table": lambda a, b, s: a.join(static_keys(s).cache(), "k"),
    "join with an aggregated table": lambda a, b, s: a.join(static_keys(s).groupBy("k").count().hint("merge"), "k"),
    "a subquery's number": lambda a, b, s: _with_view(a, s, "select * from rows_of_a where k < (select max(k) from keys)"),
    "a subquery's rows": lambda a, b, s: _with_view(a, s, "select * from rows_of_a where k in (select k from keys)"),
    "pandas": lambda a, b, s: added(a),
    "pandas, repartitioned": lambda a, b, s: added(a.repartition(2, "k")).repartition(1),
}


def _with_view(a: Any, spark: Any, query: str) -> Any:
    a.createOrReplaceTempView("rows_of_a")
    static_keys(spark).createOrReplaceTempView("keys")
    return spark.sql(query)


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
    "broadcast join with a static table": lambda a, b, s: counted(keyed(a, s, "broadcast")),
    "duplicates dropped": lambda a, b, s: a.dropDuplicates(["k", "ts"]),
    "duplicates dropped, then windows": lambda a, b, s: counted(a.dropDuplicates(["k", "ts"])),
    "two windows in a chain": lambda a, b, s: chained(a),
    "no state at all": lambda a, b, s: a.selectExpr("ts", "k + 1 as k").where("k > 1"),
    **{f"no state, {name}": plan for name, plan in STATELESS.items()},
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


ADAPTED = [(name, "false") for name in STATELESS] + [("repartitioned", "true"), ("hash join with a static table", "true")]


@pytest.mark.parametrize(("name", "code"), ADAPTED)
def test_a_plan_without_state_may_be_adapted_while_it_runs(spark: Any, tmp_path: Path, name: str, code: str) -> None:
    """Stage by stage, from the logical plans: an adapted plan must have kept them."""
    session = spark.newSession()
    settings = {"adaptive.streaming.stateless.enabled": "true", "shuffle.partitions": "3", "codegen.wholeStage": code}
    for key, value in settings.items():
        session.conf.set(f"spark.sql.{key}", value)
    stage = Stage(session, tmp_path, ("a", "b"))
    try:
        plan = STATELESS[name]
        stage.put("a", [{"ts": 1, "k": 1, "v": 1.0}, {"ts": 2, "k": 2, "v": 2.0}, {"ts": 2, "k": 2, "v": 2.0}])
        stage.start(plan(stage.watermarked("a"), stage.watermarked("b"), session))
        stage.step(None)
        stage.put("a", [{"ts": 4, "k": 1, "v": None}, {"ts": 0.5, "k": 3, "v": -1.0}])
        stage.put("b", [{"ts": 2.2, "k": 2, "v": 6.0}])
        stage.step(3)
        stage.step(6)  # of control rows alone
        assert stage.out() == sorted(map(repr, plan(stage.static("a"), stage.static("b"), session).collect()))
    finally:
        stage.close()


@pytest.mark.parametrize("column", ["k", "coalesce(k, 0) as k"], ids=["nullable", "never null"])
def test_windows_behind_a_broadcast_join_come_out_though_no_row_comes(stage: Stage, column: str) -> None:
    """In a batch of control rows alone Spark knew the key, found it in no row of the table, and did not read the stream."""
    rows = stage.rt.watermark(stage.raw("a").selectExpr("ts", column), "ts", "1 second", name="only")
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.start(counted(keyed(rows, stage.spark, "broadcast")).selectExpr("k", "count"))
    for watermark in (None, 3, 6, 9):
        stage.step(watermark)
    assert stage.out() == ["Row(k=1, count=1)"]
    assert stage.notes() == []


def test_a_stateless_batch_is_handed_to_a_function_of_the_users(stage: Stage) -> None:
    got: list[tuple[int, int]] = []

    def sink(batch: Any, _: int) -> None:
        got.extend((row.k, row["count"]) for row in batch.repartition(2).groupBy("k").count().collect())

    stage.put("a", [{"ts": 1, "k": 1}, {"ts": 2, "k": 2}, {"ts": 2, "k": 2}])
    writer = stage.watermarked("a").repartition(3).where("k > 0").writeStream.foreachBatch(sink)
    stage.query = stage.rt.start(writer, name="handed", checkpoint=str(stage.folder / "cp"))
    stage.step(None)
    stage.put("a", [{"ts": 3, "k": 3}])
    stage.step(3)
    assert sorted(got) == [(1, 1), (2, 2), (3, 1)]
