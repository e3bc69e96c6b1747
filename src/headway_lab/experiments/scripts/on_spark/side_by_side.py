"""Some scripts side by side in one driver: each has a query under Headway and the same query with Spark's own watermark.

Rows come as files, one for all rows that come in together, in a folder per input, which both queries read.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from headway_lab.experiments.scripts.on_spark.playable import CLOSING_MS
from headway_lab.experiments.scripts.virtual.script import Action, Script, ScriptQuery, arrivals, kind_of
from headway_lab.experiments.scripts.virtual.trace import ArrivedRow
from headway_lab.harness.injected_faults import Fault, cut_lines, fail_controller
from headway_lab.workloads.wall_clock import now_ms

ALIGNED_MS = 10_000  # a script's midnight: windows that divide it begin with it
STOCK_TRIGGER = "2 seconds"  # stock Spark with its own trigger takes all cores for itself
ROWS_MS = 4_000  # after its end, all rows of a script have come in
NOTICED_MS = 100  # until a line that was cut, or a controller that failed, is back
SCHEMA = "ts timestamp, id long"


@dataclass
class BatchFileSink:
    """A file per batch, which appears whole or not at all; fails when it is told to."""

    folder: Path
    fails: str | None = None  # after-log: before anything is written; after-sink: when all is

    def __call__(self, batch: Any, number: int) -> None:
        if self.fails == "after-log":
            self.fails = None
            raise Fault("on purpose, before the sink")
        rows = {row["end"]: row["ids"] for row in batch.collect()}
        part = self.folder / f"{number}.part"
        part.write_text(json.dumps(rows))
        part.rename(self.folder / f"{number}.json")
        if self.fails == "after-sink":
            self.fails = None
            raise Fault("on purpose, after the sink")


@dataclass
class StagedScript:
    """One script that is played, and what is known of it afterwards that no log says."""

    script: Script
    number: int
    folder: Path
    rows: dict[str, list[ArrivedRow]] = field(default_factory=dict)  # as they came, by file
    files: dict[str, list[ArrivedRow]] = field(default_factory=dict)  # by the file's name
    settings: list[tuple[int, ScriptQuery]] = field(default_factory=list)  # from when on, for each run
    away: list[tuple[int, int]] = field(default_factory=list)
    anew: list[int] = field(default_factory=list)  # when it was made known to a controller, or the controller began anew
    trouble: list[str] = field(default_factory=list)
    ended: bool = False

    @property
    def name(self) -> str:
        return f"script_{self.number}"

    @property
    def query(self) -> ScriptQuery:
        return self.settings[-1][1] if self.settings else self.script.queries[0]


def play(
    spark: Any,
    scripts: Sequence[tuple[int, Script]],
    folder: Path,
    over: Callable[[StagedScript], bool] = lambda part: False,
) -> tuple[list[StagedScript], int]:
    """All of them, from their midnight to their end, or until they are over; and when that was."""
    import headway as hw

    parts = [StagedScript(script, number, folder / str(number)) for number, script in scripts]
    for part in parts:
        for i in part.script.queries[0].inputs:
            (part.folder / "rows" / i.name).mkdir(parents=True)
            part.rows[i.name] = []
        for kind in ("headway", "stock"):
            (part.folder / kind).mkdir()
    with hw.Runtime(spark, journal=folder / "journal.db") as rt:
        acts = [QueryPair(rt, part, parts) for part in parts]
        _all(acts, QueryPair.begin)
        midnight = -(-(now_ms() + 1_000) // ALIGNED_MS) * ALIGNED_MS
        end = midnight + max(script.length_ms for _, script in scripts) + CLOSING_MS
        done = threading.Event()
        writer = threading.Thread(target=_write, args=(parts, midnight, done))
        writer.start()
        _all(acts, lambda act: act.play(midnight, end, over))
        done.set()
        writer.join()
        now = now_ms()
        _all(acts, QueryPair.stop)
    return parts, now


@dataclass
class QueryPair:
    """One script's two queries."""

    rt: Any
    part: StagedScript
    all: Sequence[StagedScript]
    runs: int = 0
    query: Any = None
    stock: Any = None

    def __post_init__(self) -> None:
        self.sink, self.stock_sink = BatchFileSink(self.part.folder / "headway"), BatchFileSink(self.part.folder / "stock")

    def begin(self) -> None:
        """Before the script's midnight; but a run that ends with its rows begins when there are some."""
        if not self.part.query.bounded:
            self.start(self.part.query)

    def start(self, query: ScriptQuery) -> None:
        self.runs += 1
        self.part.settings.append((now_ms(), query))
        self.query = self._start(query, headway=True)
        self.part.anew.append(now_ms())
        self.stock = self._start(query, headway=False)

    def _start(self, query: ScriptQuery, headway: bool) -> Any:
        inputs = [self._input(query, n, headway) for n in range(len(query.inputs))]
        rows = inputs[0] if len(inputs) == 1 else inputs[0].unionByName(inputs[1])
        windows = rows.selectExpr(
            f"window(ts, '{_ms(query.windows.size_ms)}', '{_ms(query.windows.slide_ms)}') as window", "id"
        )
        counted = windows.groupBy("window").agg({"id": "collect_list"})
        found = counted.selectExpr("unix_millis(window.end) as end", "`collect_list(id)` as ids")
        writer = found.writeStream.outputMode(query.mode).foreachBatch(self.sink if headway else self.stock_sink)
        if query.bounded:
            writer = writer.trigger(availableNow=True)
        elif query.trigger_ms or not headway:
            writer = writer.trigger(processingTime=_ms(query.trigger_ms) if query.trigger_ms else STOCK_TRIGGER)
        checkpoint = str(self.part.folder / "checkpoints" / ("headway" if headway else "stock"))
        if headway:
            return self.rt.start(writer, name=self.part.name, checkpoint=checkpoint)
        return writer.queryName(f"{self.part.name}_stock").option("checkpointLocation", checkpoint).start()

    def _input(self, query: ScriptQuery, n: int, headway: bool) -> Any:
        source = query.inputs[n]
        reader = self.rt.spark.readStream.schema(SCHEMA)
        if source.limit is not None:
            reader = reader.option("maxFilesPerTrigger", source.limit)
        rows = reader.json(str(self.part.folder / "rows" / source.name))
        if not headway:
            return rows.withWatermark("ts", _ms(source.patience_ms))
        never = {"idle_after": source.idle_after_ms, "horizon": source.horizon_ms}
        return self.rt.watermark(
            rows, "ts", source.patience_ms, name=f"{self.part.name}_{source.name}_{self.runs}",
            late=str(self.part.folder / "late"), **{k: "never" if v is None else v for k, v in never.items()},
        )  # fmt: skip

    # ---- what happens to them

    def play(self, midnight: int, end: int, over: Callable[[StagedScript], bool]) -> None:
        if self.part.query.bounded:  # two nights
            self._until(midnight + self.part.script.length_ms // 2)
            self.start(self.part.query)
            self._until(midnight + self.part.script.length_ms + ROWS_MS)
            self._again(self.part.query, 0)
        else:
            for action in sorted(self.part.script.actions, key=lambda a: int(a["at"])):
                if action["do"] not in ("rows", "stream"):
                    self._until(midnight + action["at"])
                    self._do(action)
        self._until(end, over)

    def _until(self, moment: int, over: Callable[[StagedScript], bool] = lambda part: False) -> None:
        """Wait; meanwhile a query that was made to fail is started again, and one that failed by itself is told of."""
        while (left := moment - now_ms()) > 0 and not over(self.part):
            if not self.part.query.bounded and not self.query.isActive:
                self._again(self.part.query, 300)
            time.sleep(min(0.1, left / 1000))

    def _do(self, action: Action) -> None:
        match action["do"]:
            case "restart":
                self._again(self.part.query.changed(action["settings"]), action["down"])
            case "crash" if action["when"] == "before-log":
                self._again(self.part.query, action["down"])
            case "crash":
                self.sink.fails = action["when"]
            case "controller":
                fail_controller(self.rt)
                for part in self.all:
                    part.anew.append(now_ms() + NOTICED_MS)
            case "hang-up":
                cut_lines(self.rt, [self.part.name])
                self.part.anew.append(now_ms() + NOTICED_MS)

    def _again(self, query: ScriptQuery, down_ms: int) -> None:
        began = now_ms()
        self.stop()
        time.sleep(down_ms / 1000)
        self.start(query)
        self.part.away.append((began, now_ms() + 1_000))

    def stop(self) -> None:
        for query in (self.query, self.stock):
            if (error := query.exception()) is not None and "on purpose" not in str(error):
                self.part.trouble.append(f"{query.name}: {str(error)[:300]}")
        self.part.ended = self.part.query.bounded and not self.query.isActive
        for query in (self.query, self.stock):
            query.stop()


def _write(parts: Sequence[StagedScript], midnight: int, done: threading.Event) -> None:
    """Every row of every script, when it comes in, until all is over."""
    key = 0
    for at, together in groupby(_coming(parts), key=lambda row: row[0]):
        if done.wait(max(0, midnight + at - now_ms()) / 1000):
            return
        for (number, name), rows in groupby(sorted(together, key=_source), key=_source):
            part = next(p for p in parts if p.number == number)
            lines, came = [], []
            for _, _, _, event, kind in rows:
                key += 1
                moment = None if event is None else midnight + event
                lines.append(json.dumps({"ts": None if moment is None else _iso(moment), "id": key}))
                came.append(ArrivedRow(key, part.query.name, name, 0, moment, kind))
            file = part.folder / "rows" / name / f"{key}.json"
            hidden = file.with_name(f".{file.name}")
            hidden.write_text("\n".join(lines))
            hidden.rename(file)
            now = now_ms()
            part.files[file.name] = [replace(c, at=now) for c in came]
            part.rows[name] += part.files[file.name]


def _coming(parts: Sequence[StagedScript]) -> Iterator[tuple[int, int, str, int | None, str]]:
    found = [
        (at // 100 * 100, part.number, action["input"], event, kind_of(action))
        for part in parts
        for action in part.script.actions
        if action["do"] in ("rows", "stream")
        for at, event in arrivals(action)
    ]
    return iter(sorted(found, key=lambda row: (row[0], row[1], row[2])))


def _source(row: tuple[int, int, str, int | None, str]) -> tuple[int, str]:
    return row[1], row[2]


def _all(acts: Sequence[QueryPair], do: Callable[[QueryPair], None]) -> None:
    """Each in a thread of its own; what one of them raises is raised."""
    failed: list[BaseException] = []

    def one(act: QueryPair) -> None:
        try:
            do(act)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=one, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def _ms(ms: int) -> str:
    return f"{ms} milliseconds"


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
