"""Answers from a sample on real Spark: the rows that the hash picks, the figures that they give, and what is refused."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from pyspark.sql import functions as F

import headway as hw
from headway.loop.journal import JournalReader
from headway.loop.sampler import Sampler
from headway.model.offset import Sampled
from headway.model.sampling import Sampling, StreamView
from spark.scripted import Stage, wait_until

pytestmark = pytest.mark.spark
Z = 1.959964
STRUCT = ["estimate", "lower", "upper", "sample", "seen", "sound"]


@dataclass(frozen=True)
class Part:
    """Takes a given part, whatever it sees."""

    share: float
    keys: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))
    error: float = 0.05
    confidence: float = 0.95
    most_ms: int = 10_000

    def decide(self, seen: StreamView) -> Sampling:
        return Sampling(self.share, (1.0,) * seen.places, 1_000, "as told: a part", self.keys)


@pytest.fixture
def stage(spark: Any, tmp_path: Path) -> Iterator[Stage]:
    made = Stage(spark, tmp_path)
    yield made
    made.close()


def made(rows: int, seed: int = 1, start: float = 0.0, seconds: float = 3.0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    at = np.sort(rng.uniform(start, start + seconds, rows)).round(6).tolist()
    values = rng.gamma(4.0, 2.0, rows).round(6).tolist()
    return [{"ts": t, "k": i % 7, "v": v} for i, (t, v) in enumerate(zip(at, values, strict=True))]


def sampled(stage: Stage, policy: Any, **more: Any) -> Any:
    return stage.rt.approximate(stage.raw("a"), "ts", value="v", sampling=policy, name="a", **more)


def answers(stage: Stage, frame: Any, *rows: list[dict[str, Any]]) -> list[Any]:
    """What comes out of windows of 3 s when these rows are read, a batch each, and the last window is closed."""
    stage.start(frame)
    for part in rows:
        stage.put("a", part)
        stage.step()
    stage.step(3.0 * len(rows))
    stage.put("a", [{"ts": 100.0, "k": 0, "v": 0.0}])
    stage.step()
    out: list[Any] = stage.spark.table("staged").orderBy("window").collect()
    return out


def window(frame: Any, *keys: str) -> Any:
    return frame.groupBy(F.window("ts", "3 seconds"), *keys)


def picked(stage: Stage, rate: float) -> list[Any]:
    """The rows that a sample of this rate has, worked out by a batch query of its own."""
    chance = "shiftrightunsigned(xxhash64('headway', ts, k, v), 11) / 9007199254740992D"
    rows: list[Any] = stage.static("a").where(f"ts < timestamp'1970-01-01 00:00:03Z' and {chance} < {rate}").collect()
    return rows


def test_the_hash_of_a_row_says_whether_it_is_taken_and_its_bound_is_that_of_the_books(stage: Stage) -> None:
    asked = {"mean": hw.approx.mean("v"), "sum": hw.approx.sum("v"), "rows": hw.approx.count()}
    (out,) = answers(stage, window(sampled(stage, Part(0.3))).agg(*[c.alias(n) for n, c in asked.items()]), made(2_000))
    y = np.array([r.v for r in picked(stage, 0.3)])
    n, w = len(y), 1 / 0.3
    assert 500 < n < 700
    student = Z + (Z**3 + Z) / (4 * (n - 1))
    mean_sd = np.sqrt((w * w - w) * ((y - y.mean()) ** 2).sum()) / (n * w)
    expected = {
        "mean": (y.mean(), mean_sd),
        "sum": (w * y.sum(), np.sqrt((w * w - w) * (y**2).sum())),
        "rows": (w * n, np.sqrt((w * w - w) * n)),
    }
    for name, (estimate, sd) in expected.items():
        assert list(out[name].asDict()) == STRUCT
        found = [out[name][key] for key in ("estimate", "lower", "upper")]
        assert found == pytest.approx([estimate, estimate - student * sd, estimate + student * sd], rel=1e-6)
        assert (out[name].sample, out[name].seen, out[name].sound) == (n, 1.0, True)


@pytest.mark.core("answers with a bound: rt.approximate")
def test_bounds_hold_the_true_answers(stage: Stage) -> None:
    parts = [made(1_500, seed=s, start=3.0 * s) for s in range(6)]
    frame = window(sampled(stage, Part(0.4))).agg(hw.approx.mean("v").alias("m"), hw.approx.quantile("v", 0.5).alias("q"))
    out = answers(stage, frame, *parts)
    assert len(out) == 6
    for row, part in zip(out, parts, strict=True):
        values = [r["v"] for r in part]
        assert row.m.lower < np.mean(values) < row.m.upper and row.m.upper - row.m.lower < 0.2 * row.m.estimate
        assert row.q.lower < np.median(values) < row.q.upper and row.q.lower < row.q.estimate < row.q.upper


def test_a_sample_is_handed_over_as_it_is_with_what_its_rows_stand_for(stage: Stage) -> None:
    rows = made(4_000)
    taken = hw.approx.collect("v", "k").alias("taken")
    (row,) = answers(stage, window(sampled(stage, Part(0.25))).agg(taken), rows)
    assert sorted((r.v, r.k) for r in row.taken.rows) == sorted((r.v, r.k) for r in picked(stage, 0.25))
    assert {r.sampling_rate for r in row.taken.rows} == {0.25}


def test_rates_by_place_and_a_window_that_is_not_all_there(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an offset says is what Spark does: less of later sub-streams is there, so more of them is taken."""
    arrived, share, seen, unsure = (1.0, 0.9, 0.8, 0.6, 0.2), 0.3, 0.7, 0.04
    plain = {"share": share, "seen": seen, "unsure": unsure, "z": Z, "widest": 4.5}
    millionths: dict[str, Any] = {name: round(1e6 * part) for name, part in plain.items()}
    told = Sampled(
        **millionths, sub_ms=600, every_ms=3_000, arrived=tuple(round(1e6 * part) for part in arrived),
    )  # fmt: skip
    monkeypatch.setattr(Sampler, "offset", lambda *_: told)
    asked = [hw.approx.mean("v").alias("mean"), hw.approx.sum("v").alias("sum"), hw.approx.collect("ts", "v").alias("all")]
    (out,) = answers(stage, window(sampled(stage, Part(0.5))).agg(*asked), made(4_000))
    chance = "shiftrightunsigned(xxhash64('headway', ts, k, v), 11) / 9007199254740992D as chance"
    rows = stage.static("a").where("ts < timestamp'1970-01-01 00:00:03Z'").selectExpr("unix_millis(ts) as ms", "v", chance)
    at, value, dice = np.array([tuple(row) for row in rows.collect()]).T
    rate = np.minimum(1.0, share / np.array(arrived)[(at // 600).astype(int)])
    here = dice < rate
    y, w = value[here], 1 / rate[here] / seen
    assert (out["all"].seen, len(out["all"].rows)) == (seen, here.sum())
    assert sorted(r.sampling_rate for r in out["all"].rows) == pytest.approx(sorted(rate[here]))
    total, mean = (w * y).sum(), (w * y).sum() / w.sum()
    off = np.sqrt((w * (w - 1) * y**2).sum() + (unsure * total) ** 2)
    assert out.sum.estimate == pytest.approx(total) and out.sum.seen == seen
    assert out.sum.upper - out.sum.estimate == pytest.approx(Z * off, rel=0.01)
    off = np.sqrt((w * (w - 1) * (y - mean) ** 2).sum()) / w.sum()
    assert out["mean"].estimate == pytest.approx(mean)
    assert out["mean"].estimate - out["mean"].lower == pytest.approx(Z * off, rel=0.01)


def test_all_rows_give_the_exact_answer(stage: Stage) -> None:
    rows = made(400)
    frame = window(sampled(stage, Part(1.0)))
    (out,) = answers(stage, frame.agg(hw.approx.sum("v").alias("s"), hw.approx.quantile("v", 0.9).alias("q")), rows)
    total = sum(r["v"] for r in rows)
    assert out.s.asDict() == pytest.approx(
        {"estimate": total, "lower": total, "upper": total, "sample": 400, "seen": 1.0, "sound": True}
    )
    assert out.q.estimate == out.q.lower == out.q.upper


def test_groups_that_are_not_named_are_kept_whole(stage: Stage, spark: Any) -> None:
    key = spark.sql("select xxhash64(3) as h").head().h
    frame = window(sampled(stage, Part(1.0, {key: 0.2}), per="k"), "k").agg(hw.approx.count().alias("n"))
    out = {row.k: row.n for row in answers(stage, frame, made(2_100))}
    assert all(out[k].estimate == out[k].lower == 300 for k in range(7) if k != 3)
    assert out[3].sample < 100 and out[3].lower < 300 < out[3].upper


def test_a_long_tail_and_few_rows_are_said_to_be_unsound_and_widened(stage: Stage) -> None:
    rows = [{"ts": 0.001 * i, "k": i, "v": 1e6 if i % 500 == 0 else 1.0} for i in range(2_000)]
    frame = window(sampled(stage, Part(0.5))).agg(hw.approx.mean("v").alias("m"), hw.approx.count().alias("n"))
    (out,) = answers(stage, frame, rows)
    assert not out.m.sound and out.n.sound
    assert out.m.lower < np.mean([r["v"] for r in rows]) < out.m.upper


def test_rows_without_a_value_or_a_time_are_none(stage: Stage) -> None:
    rows: list[dict[str, Any]] = [{"ts": 0.001 * i, "k": i, "v": None if i % 2 else 2.0} for i in range(200)]
    rows += [{"ts": None, "k": 1, "v": 7.0}]
    frame = window(sampled(stage, Part(1.0))).agg(
        hw.approx.mean("v").alias("m"), hw.approx.count("v").alias("n"), hw.approx.count().alias("all")
    )
    (out,) = answers(stage, frame, rows)
    assert (out.m.estimate, out.m.sample, out.n.estimate, out["all"].estimate) == (2.0, 100, 100, 200)


def test_a_window_without_a_value_has_no_estimate(stage: Stage) -> None:
    asked = {"m": hw.approx.mean("v"), "s": hw.approx.sum("v"), "q": hw.approx.quantile("v", 0.5), "n": hw.approx.count("v")}
    frame = window(sampled(stage, Part(1.0))).agg(*[answer.alias(name) for name, answer in asked.items()])
    (out,) = answers(stage, frame, [{"ts": 1.0, "k": 1, "v": None}])
    for name in ("m", "s", "q"):
        assert (out[name].estimate, out[name].lower, out[name].sample, out[name].sound) == (None, None, 0, False)
    assert (out.n.estimate, out.n.sample) == (0.0, 0)  # of which there are none, there is a number


def test_a_value_beyond_all_measure_stops_nobody(stage: Stage) -> None:
    rows = [{"ts": 0.03 * i, "k": i, "v": 1.7e308 if i == 50 else 1.0} for i in range(100)]
    frame = window(sampled(stage, hw.sampling.Aion())).agg(hw.approx.count().alias("n"))
    (first, *_) = answers(stage, frame, rows, made(300, start=3.0), made(300, start=6.0))
    assert first.n.estimate == 100


def test_what_costs_much_comes_after_the_sample(stage: Stage) -> None:
    """The user's own expression is worked out for rows that were taken, and for no others."""
    rows = sampled(stage, Part(0.25)).withColumn("dear", F.sqrt("v"))
    stage.start(window(rows).agg(hw.approx.mean("dear").alias("m")))
    stage.put("a", made(1_000))
    stage.step()
    plan = stage.query._jsq.explainInternal(False)
    lines = [line for line in plan.splitlines() if "SQRT" in line or "xxhash64" in line or "CollectMetrics" in line]
    assert "CollectMetrics" in lines[-1] and "xxhash64" in lines[-2] and all("SQRT" in line for line in lines[:-2])


def test_with_aion_a_stream_of_old_rows_is_sampled_once_it_is_known(stage: Stage) -> None:
    parts = [made(6_000, seed=s, start=3.0 * s) for s in range(8)]
    rows = stage.rt.approximate(stage.raw("a"), "ts", error=0.05, value="v", name="a", arrival="ts")
    out = answers(stage, window(rows).agg(hw.approx.mean("v").alias("m")), *parts)
    sizes = [row.m.sample for row in out]
    assert sizes[0] == 6_000 and max(sizes[5:]) < 2_000
    for row, part in zip(out, parts, strict=True):
        truth = np.mean([r["v"] for r in part])
        assert abs(row.m.estimate / truth - 1) < 0.05 and row.m.lower * (1 - 1e-9) <= truth <= row.m.upper * (1 + 1e-9)

    def said() -> bool:
        decided = JournalReader(stage.folder / "journal.db").entries("sampling")
        return any("rows are enough" in entry.decided.because and entry.scope == "staged/a" for entry in decided)

    wait_until(said, "the decision in the journal")


def test_after_a_restart_what_was_known_of_the_stream_is_known(spark: Any, tmp_path: Path) -> None:
    def begun(stage: Stage) -> Any:
        rows = stage.rt.approximate(stage.raw("a"), "ts", value="v", name="a", arrival="ts")
        writer = window(rows).agg(hw.approx.mean("v").alias("m")).writeStream.outputMode("append").format("noop")
        stage.query = stage.rt.start(writer, name="staged", checkpoint=str(tmp_path / "checkpoint"))
        wait_until(lambda: stage.at_gate, "the first question at the gate", stage.query)
        return stage.told.inputs[0].sampling

    first = Stage(spark, tmp_path)
    begun(first)
    for s in range(6):
        first.put("a", made(6_000, seed=s, start=3.0 * s))
        first.step(3.0 * s + 3)
    was = first.told.inputs[0].sampling
    assert was is not None and was.share < 0.5
    first.close()
    with (tmp_path / "checkpoint" / ".headway.seen").open("a") as file:
        file.write('{"batch": 99, "inp')  # as a crash leaves it
    second = Stage(spark, tmp_path)
    assert begun(second) == was
    second.close()


# ---- what is refused


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"error": 0}, ["approximate.error = 0", "between 0 and 1"]),
        ({"error": 1.0}, ["approximate.error = 1.0"]),
        ({"error": -0.1}, ["approximate.error"]),
        ({"confidence": 0.0}, ["approximate.confidence = 0.0"]),
        ({"confidence": 1}, ["approximate.confidence = 1"]),
        ({"of": "max"}, ["approximate.of = 'max'", "mean, sum, count"]),
        ({"of": "distinct"}, ["approximate.of", "mean, sum, count"]),
        ({"value": "w"}, ["approximate.value = 'w'", "ts, k, v"]),
        ({"value": "ts"}, ["approximate.value = 'ts'", "numbers"]),
        ({"per": "zone"}, ["approximate.per = 'zone'", "ts, k, v"]),
        ({"by": ["id"]}, ["approximate.by = 'id'", "ts, k, v"]),
        ({"sampling": "Aion"}, ["approximate.sampling = 'Aion'", "headway.sampling.Aion()"]),
        ({"arrival": "came"}, ["'came'", "ts, k, v"]),
        ({"arrival": "k"}, ["arrival = 'k'", "a timestamp column", "cast it first"]),
        ({"least": 0}, ["approximate.least = 0", "1 or more"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_what_cannot_be_asked_for_is_refused_in_a_line(stage: Stage, arguments: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(hw.HeadwayError) as error:
        stage.rt.approximate(stage.raw("a"), "ts", **arguments)
    text = str(error.value)
    assert "\n" not in text and all(word in text for word in words), text


@pytest.mark.parametrize("name", ["max", "min", "count_distinct", "sum", "avg", "count"])
def test_a_plain_aggregate_of_a_sample_is_refused_with_what_there_is(stage: Stage, name: str) -> None:
    frame = window(sampled(stage, Part(0.5))).agg(getattr(F, name)("v"))
    with pytest.raises(hw.HeadwayError) as error:
        stage.rt.start(frame.writeStream.format("memory"), name="staged")
    text = str(error.value)
    assert "\n" not in text and "approx.mean, sum, count and quantile" in text and "'staged'" in text


@pytest.mark.parametrize("mode", ["update", "complete"])
def test_a_sample_of_a_window_that_is_still_open_is_not_shown(stage: Stage, mode: str) -> None:
    frame = window(sampled(stage, Part(0.5))).agg(hw.approx.count().alias("n"))
    with pytest.raises(hw.SettingError, match=f"outputMode = '{mode}': expected append"):
        stage.rt.start(frame.writeStream.format("memory").outputMode(mode), name="staged")


def test_a_table_beside_the_sample_may_be_aggregated_as_one_likes(stage: Stage, spark: Any) -> None:
    table = spark.range(7).selectExpr("id as k", "id % 2 as odd").groupBy("k").agg(F.max("odd").alias("odd"))
    frame = window(sampled(stage, Part(1.0)).join(table, "k"), "odd").agg(hw.approx.count().alias("n"))
    out = answers(stage, frame, made(700))
    assert {row.odd: row.n.estimate for row in out} == {0: 400, 1: 300}


def test_a_quantile_must_be_between_nothing_and_all(spark: Any) -> None:
    for share in (0, 1, -1, 2, "half"):
        with pytest.raises(hw.SettingError, match=r"approx\.quantile"):
            hw.approx.quantile("v", share)  # type: ignore[arg-type]


def test_an_order_without_a_gate_cannot_sample(spark: Any, tmp_path: Path) -> None:
    with hw.Runtime(spark, hw.order.Stock()) as rt, pytest.raises(hw.HeadwayError, match="gate"):
        rt.approximate(spark.readStream.format("rate").load(), "timestamp")


def test_two_samples_do_not_make_a_query(spark: Any, tmp_path: Path) -> None:
    stage = Stage(spark, tmp_path, ("a", "b"))
    one, two = (stage.rt.approximate(stage.raw(name), "ts", name=name) for name in ("a", "b"))
    with pytest.raises(hw.HeadwayError, match="2 inputs"):
        stage.rt.start(one.union(two).groupBy(F.window("ts", "3 seconds")).agg(hw.approx.count()).writeStream, name="staged")
    stage.close()


# ---- a crash


def test_a_kill_in_the_middle_of_a_batch_changes_no_estimate(tmp_path: Path) -> None:
    """The same rows and grants, once in one go and once with a kill -9: all answers alike, to the last digit."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert child(whole) == 0
    assert child(killed, kill_at=6) == -signal.SIGKILL
    first = json.loads((killed / "out" / "6-first.json").read_text())
    assert child(killed) == 0
    assert json.loads((killed / "out" / "6.json").read_text()) == first  # the batch that ran again
    out = [{f.name: json.loads(f.read_text()) for f in (run / "out").glob("[0-9]*.json")} for run in (whole, killed)]
    out[1].pop("6-first.json")
    assert out[0] == out[1]
    sizes = [row["sample"] for rows in out[0].values() for row in rows]
    assert min(sizes) < 2_000 < max(sizes)  # it did sample


def child(folder: Path, kill_at: int = -1) -> int:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, str(Path(__file__).with_name("approximate_child.py")), str(folder), str(kill_at)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )  # fmt: skip
        try:
            return process.wait(timeout=300)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # its JVM, should it still live


def test_without_the_gate_a_sample_goes_on_by_its_rows_and_its_bounds_stay_as_wide_as_was_asked(stage: Stage) -> None:
    parts = [made(1_500, seed=s, start=3.0 * s) for s in range(3)]
    frame = window(sampled(stage, Part(0.4, confidence=0.99))).agg(hw.approx.mean("v").alias("m"))
    stage.start(frame)
    stage.put("a", parts[0])
    stage.step()
    stage.plane.gate.close()
    for part in (*parts[1:], [{"ts": 100.0, "k": 0, "v": 0.0}]):
        stage.put("a", part)
    wait_until(lambda: len(stage.out()) == 3, "the windows", stage.query)
    stage.query.processAllAvailable()  # it comes to rest: a new offset alone makes no batch after another
    for row, part in zip(stage.spark.table("staged").orderBy("window").collect(), parts, strict=True):
        mean = np.mean([r["v"] for r in part])
        assert row.m.lower - 1e-9 < mean < row.m.upper + 1e-9  # a batch after a pause takes all rows: its answer is exact
        assert row.m.seen == 1.0
    offsets = [s["endOffset"] for p in stage.query.recentProgress for s in json.loads(p.json)["sources"]]
    widths = [offset["sampled"]["z"] for offset in offsets if "seq" in offset]
    assert widths and min(widths) > 2_500_000  # of 99 %, not of the 95 % that holds where nothing is said
