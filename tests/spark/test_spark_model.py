"""The model of Spark that scripts are judged by, held against Spark itself: the same tiny scripts, batch by batch."""

import copy
import itertools
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest
from pyspark.sql import functions as F

from headway_lab.experiments.scripts.virtual.engine import ModelRow, PlannedBatch, RowKey, SparkQuery, WindowShape

BASE = 1_699_920_000_000  # a midnight, so that windows begin with it
Given = list[tuple[RowKey, float | None]]  # rows: key, and event time in ms after BASE
Batch = tuple[int, dict[int, list[RowKey]], int, int]  # number, what was put out, windows refused, watermark

_NAMES = itertools.count()


class Engine(Protocol):
    """Spark, or the model of it."""

    def more(self, **inputs: Given) -> None:
        """Give rows to the running query, and wait until there is nothing left to do."""
        ...

    def restart(self, **inputs: Given) -> None:
        """Stop it, give rows, start it again, and wait."""
        ...

    def lose_commit(self) -> None:
        """Stop it as if its last batch had not been committed, start it again, and wait."""
        ...

    def batches(self) -> list[Batch]: ...


class Stock:
    """A windowed query with Spark's own watermark, over a folder per input, one file per input and step."""

    def __init__(self, spark: Any, folder: Path, windows: WindowShape, delays: dict[str, int], mode: str) -> None:
        self.spark, self.folder, self.windows, self.delays, self.mode = spark, folder, windows, delays, mode
        self.put: dict[int, dict[int, list[RowKey]]] = {}
        self.told: dict[int, tuple[int, int]] = {}
        self.files = 0
        for name in delays:
            (folder / name).mkdir()
        self._start()

    def _start(self) -> None:
        inputs = [self._input(name, delay) for name, delay in self.delays.items()]
        rows = inputs[0] if len(inputs) == 1 else inputs[0].union(inputs[1])
        shape = F.window("ts", f"{self.windows.size_ms} milliseconds", f"{self.windows.slide_ms} milliseconds")
        counted = rows.groupBy(shape).agg(F.sum(F.expr("shiftleft(1L, cast(id as int))")).alias("keys"))
        writer = counted.writeStream.outputMode(self.mode).foreachBatch(self._take).queryName(f"model{next(_NAMES)}")
        self.query = writer.option("checkpointLocation", str(self.folder / "checkpoint")).start()
        self._settle()

    def _input(self, name: str, delay: int) -> Any:
        rows = self.spark.readStream.schema("ts timestamp, id long").json(str(self.folder / name))
        return rows.withWatermark("ts", f"{delay} milliseconds")

    def _take(self, frame: Any, batch: int) -> None:
        rows = frame.select(F.unix_millis("window.end").alias("end"), "keys").collect()
        self.put[batch] = {r["end"]: [k for k in range(62) if r["keys"] >> k & 1] for r in rows}

    def _settle(self) -> None:
        self.query.processAllAvailable()
        for told in self.query.recentProgress:
            if "addBatch" in told["durationMs"]:
                dropped = sum(s["numRowsDroppedByWatermark"] for s in told["stateOperators"])
                watermark = datetime.fromisoformat(told["eventTime"]["watermark"]).timestamp() * 1000
                self.told[told["batchId"]] = (dropped, round(watermark))

    def _write(self, inputs: dict[str, Given]) -> None:
        for name, rows in inputs.items():
            self.files += 1
            hidden = self.folder / f"{self.files}.hidden"
            hidden.write_text("".join(json.dumps({"id": key, "ts": stamp(event)}) + "\n" for key, event in rows))
            hidden.rename(self.folder / name / f"{self.files:03}.json")

    def more(self, **inputs: Given) -> None:
        self._write(inputs)
        self._settle()

    def restart(self, **inputs: Given) -> None:
        self.query.stop()
        self._write(inputs)
        self._start()

    def lose_commit(self) -> None:
        self.query.stop()
        commits = self.folder / "checkpoint" / "commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        for path in (commits / str(last), commits / f".{last}.crc"):
            path.unlink(missing_ok=True)
        self._start()

    def batches(self) -> list[Batch]:
        return [(n, self.put[n], *self.told[n]) for n in sorted(self.put)]


class Model:
    """The same on the model."""

    def __init__(self, windows: WindowShape, delays: dict[str, int], mode: Any) -> None:
        self.spark = SparkQuery(windows, delays, mode)
        self.done: dict[int, Batch] = {}
        self.read: dict[int, list[ModelRow]] = {}
        self.seen = 0
        self.before = self.spark

    def _batch(self, logged: PlannedBatch) -> None:
        ran = self.spark.run(logged, self.read[logged.batch])
        self.spark.put_out(ran)
        self.spark.commit(ran)
        out = {end: sorted(keys) for end, keys in ran.out.items()}
        # Spark counts groups, after rows of one window have been brought together.
        self.done[ran.batch] = (ran.batch, out, len({end for end, _ in ran.refused}), ran.swept)

    def _settle(self, inputs: dict[str, Given]) -> None:
        rows = [ModelRow(k, name, None if e is None else BASE + e) for name, pairs in inputs.items() for k, e in pairs]
        self.seen += len(rows)
        while self.spark.wants({"rows": self.seen}) and (rows or self.spark.log):
            self.before = copy.deepcopy(self.spark)
            self.read[len(self.spark.log)], rows = rows, []
            self._batch(self.spark.begin({"rows": self.seen}, 0))

    def more(self, **inputs: Given) -> None:
        self._settle(inputs)

    def restart(self, **inputs: Given) -> None:
        assert self.spark.restart() is None
        self._settle(inputs)

    def lose_commit(self) -> None:
        sink, last = self.spark.sink, self.spark.log[-1]
        self.spark = self.before
        self.spark.sink = sink
        self.spark.log.append(last)
        again = self.spark.restart()
        assert again == last
        self._batch(again)
        self._settle({})
        assert not self.spark.torn

    def batches(self) -> list[Batch]:
        return [self.done[n] for n in sorted(self.done)]


def stamp(event: float | None) -> str | None:
    """With microseconds, as far as `event` has a fraction."""
    if event is None:
        return None
    return (datetime.fromtimestamp(BASE / 1000, UTC) + timedelta(microseconds=round(event * 1000))).isoformat()


@pytest.fixture
def alike(spark: Any, tmp_path: Path) -> Iterator[Callable[..., list[Batch]]]:
    """Runs a script on both, and gives what both have done."""
    running: list[Stock] = []

    def both(script: Callable[[Engine], None], windows: WindowShape, mode: str = "append", **delays: int) -> list[Batch]:
        running.append(Stock(spark, tmp_path, windows, delays, mode))
        model = Model(windows, delays, mode)
        script(running[0])
        script(model)
        assert running[0].batches() == model.batches()
        return model.batches()

    yield both
    for stock in running:
        stock.query.stop()


def test_edges_of_windows_and_of_the_watermark(alike: Callable[..., list[Batch]]) -> None:
    def script(on: Engine) -> None:
        on.more(a=[(0, 1_000), (1, 3_000), (2, None), (3, 5_999)])
        on.more(a=[(4, 3_499.999)])  # the watermark stays; 3,499.999 rounds down
        on.more(a=[(5, 6_499.999)])  # 6,499 - 500 = 5,999: a microsecond short of the second window's end
        on.more(a=[(6, 5_999.999), (7, 6_500)])  # now it is 6,000, and `<=` closes that window
        on.more(a=[(8, 5_999.999), (9, 6_000), (10, 9_500)])

    done = alike(script, WindowShape(3_000, 3_000), a=500)
    assert [dropped for *_, dropped, _ in done][-2:] == [1, 0]


def test_sliding_windows_refuse_a_row_for_some_of_its_windows(alike: Callable[..., list[Batch]]) -> None:
    def script(on: Engine) -> None:
        on.more(a=[(0, 1_500), (1, 7_200)])
        on.more(a=[(2, 2_900), (3, 500), (4, 7_900)])
        on.more(a=[(5, 20_000)])

    done = alike(script, WindowShape(5_000, 1_000), a=1_000)
    assert sum(dropped for *_, dropped, _ in done) > 0


def test_update_mode_puts_out_what_changed_and_refuses_the_same(alike: Callable[..., list[Batch]]) -> None:
    def script(on: Engine) -> None:
        on.more(a=[(0, 1_000), (1, 3_100)])
        on.more(a=[(2, 1_500), (3, 7_000)])
        on.more(a=[(4, 1_600), (5, 6_100)])

    alike(script, WindowShape(3_000, 3_000), mode="update", a=0)


def test_two_inputs_the_slowest_decides_and_a_restart_forgets_how_far_each_was(alike: Callable[..., list[Batch]]) -> None:
    def script(on: Engine) -> None:
        on.restart(a=[(0, 1_000)], b=[(1, 2_000)])
        on.more(a=[(2, 30_000)])
        on.more(b=[(3, 9_500)])
        on.restart(a=[(4, 9_800)])  # b counts as 1970 again, until it speaks
        on.more(b=[(5, 40_000)])
        on.more(a=[(6, 2_000), (7, 30_500)])

    alike(script, WindowShape(3_000, 3_000), a=0, b=500)


def test_after_a_restart_no_batch_sweeps_until_rows_come(alike: Callable[..., list[Batch]]) -> None:
    def script(on: Engine) -> None:
        on.more(a=[(0, 1_000), (1, 8_000)])
        on.lose_commit()  # of the batch without rows
        on.restart()
        on.more(a=[(2, 9_000)])
        on.lose_commit()
        on.more(a=[(3, 2_000), (4, 30_000)])
        on.lose_commit()

    alike(script, WindowShape(3_000, 3_000), a=1_000)


def test_a_row_from_the_far_future_closes_everything(alike: Callable[..., list[Batch]]) -> None:
    def script(on: Engine) -> None:
        on.more(a=[(0, 1_000)])
        on.more(a=[(1, 40 * 86_400_000)])
        on.more(a=[(2, 1_500)])

    alike(script, WindowShape(3_000, 3_000), a=500)
