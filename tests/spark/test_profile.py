"""The settings of a streaming query are its own: the session, and the user's other work in it, keeps its."""

import threading
from pathlib import Path
from typing import Any

import pytest

import headway as hw
from headway.spark.profile import CODE_PAYS_ROWS, INTERPRETED, PARTITIONS, TUNED, Profile, chosen, settled, usual

pytestmark = pytest.mark.spark
ALL = TUNED | INTERPRETED


@pytest.fixture
def bare(spark: Any) -> Any:
    """A session in which nobody has set anything."""
    return spark.newSession()


def settings_of(spark: Any, folder: Path, **settings: Any) -> tuple[dict[str, str], int]:
    """What a query that was started in this session goes by, and the tasks of its plan that read."""
    with hw.Runtime(spark, journal=folder / "journal.db") as rt:
        rows = spark.readStream.format("rate").option("numPartitions", 3).load()
        counts = rt.watermark(rows, "timestamp", "1 second", **settings).groupBy("value").count()
        writer = counts.writeStream.format("noop").outputMode("update")
        query = rt.start(writer, name="rates", checkpoint=str(folder / "checkpoint"))
        found = of(query._jsq.streamingQuery().sparkSessionForStream().conf())
        plan = counts._jdf.queryExecution().analyzed().toString()
    return found, 1 if "Repartition 1, false" in plan else 3


def of(conf: Any) -> dict[str, str]:
    return {key: told.get() if (told := conf.getOption(key)).isDefined() else "" for key in ALL}


def test_a_query_has_them_and_its_session_has_not(bare: Any, tmp_path: Path) -> None:
    before = of(bare._jsparkSession.conf())
    assert before[PARTITIONS] == "200" and before["spark.sql.codegen.wholeStage"] == "true"
    assert settings_of(bare, tmp_path) == (ALL, 1)
    assert of(bare._jsparkSession.conf()) == before


def test_what_the_user_has_set_in_the_session_is_left_as_it_is(bare: Any, tmp_path: Path) -> None:
    bare.conf.set(PARTITIONS, "3")
    found, tasks = settings_of(bare, tmp_path)
    assert found == ALL | {PARTITIONS: "3"} and tasks == 3
    assert bare.conf.get(PARTITIONS) == "3"


def test_large_batches_have_generated_code_and_several_tasks(bare: Any, tmp_path: Path) -> None:
    found, tasks = settings_of(bare, tmp_path, rows_per_batch=CODE_PAYS_ROWS)
    assert {key: found[key] for key in TUNED} == TUNED and tasks == 3
    assert found["spark.sql.codegen.wholeStage"] == "true"


def test_a_session_can_keep_them_all_to_itself(bare: Any) -> None:
    bare.conf.set("spark.headway.tune", "false")
    assert chosen(bare, usual(bare)) == {}


def test_starts_with_the_same_settings_run_side_by_side_and_others_wait(bare: Any) -> None:
    small, large = Profile(), Profile(CODE_PAYS_ROWS)
    before, seen = of(bare._jsparkSession.conf()), {}

    def start_large() -> None:
        with settled(bare, large):
            seen.update(of(bare._jsparkSession.conf()))

    other = threading.Thread(target=start_large)
    with settled(bare, small):
        with settled(bare, small):
            other.start()
            assert chosen(bare, small) == small.settings, "what we have lent is not taken for the user's"
        assert of(bare._jsparkSession.conf()) == ALL and not seen
    other.join()
    assert seen == before | TUNED
    assert of(bare._jsparkSession.conf()) == before


@pytest.mark.parametrize("rows", ["many", "0", "-3"])
def test_a_number_of_rows_in_the_session_that_is_none_is_refused(bare: Any, rows: str) -> None:
    bare.conf.set("spark.headway.rowsPerBatch", rows)
    with pytest.raises(hw.SettingError, match="rows_per_batch"):
        usual(bare)


def test_what_was_chosen_is_said_in_one_line() -> None:
    assert Profile(1_000).says("1") == "no generated code, one task a batch: about 1,000 rows a batch are expected"
    assert Profile(200_000).says("4") == "generated code, state in 4 partitions: about 200,000 rows a batch are expected"


def test_what_foreach_batch_does_goes_by_the_users_settings(bare: Any, tmp_path: Path) -> None:
    """In the batch's own session, where stock Spark would run it; and the next batch of the stream by ours again."""
    seen = []

    def merge(batch: Any, number: int) -> None:
        conf = batch.sparkSession._jsparkSession.conf()
        shuffled = batch.repartition("n")._jdf.queryExecution().executedPlan().toString()
        seen.append((conf.get(PARTITIONS), conf.get("spark.sql.codegen.wholeStage"), ", 200)" in shuffled))
        batch.collect()

    rows = tmp_path / "rows"
    rows.mkdir()
    with hw.Runtime(bare, journal=tmp_path / "journal.db") as rt:
        stream = bare.readStream.schema("ts timestamp, k int").json(str(rows))
        counts = rt.watermark(stream, "ts", "1 second").groupBy("k").count().selectExpr("k", "count as n")
        writer = counts.writeStream.outputMode("update").foreachBatch(merge)
        (rows / "1.json").write_text('{"ts": "2026-01-01T00:00:00Z", "k": 1}')
        query = rt.start(writer, name="merged", checkpoint=str(tmp_path / "checkpoint"))
        query.processAllAvailable()
        (rows / "2.json").write_text('{"ts": "2026-01-01T00:00:01Z", "k": 1}')
        query.processAllAvailable()
        assert query._jsq.streamingQuery().sparkSessionForStream().conf().get(PARTITIONS) == "1"
    assert len(seen) >= 2 and set(seen) == {("200", "true", True)}
