"""The ordered merge under test: the same rows in many interleavings, and what it costs beside a plain aggregation."""

import json
import random
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

from headway.model.decision import Decision, Grant, Hold
from headway.model.message import Use
from headway.model.time import EventMs, WallMs
from headway.model.view import Snapshot

SCHEMA = "ts timestamp, k int, v long"
OUTPUT = "k int, n int, ts timestamp, v long, source int, late boolean, passed timestamp"
PATIENCE_S = 100
Row = tuple[int, int, int]  # milliseconds, key, value
Batch = tuple[list[list[Row]], int]  # rows per stream, and the watermark that is announced with them


class ScriptedOrder:
    """Grants what it was told to, in that order, and nothing else."""

    gated: ClassVar[bool] = True

    def __init__(self) -> None:
        self.steps: deque[int] = deque()

    def decide(self, snap: Snapshot) -> Decision:
        if self.steps and snap.waiting:
            return Grant(snap.waiting[0].name, EventMs(self.steps.popleft()), because="the experiment says so")
        return Hold(WallMs(snap.now + 1000), because="the experiment says nothing")


class DrivenQuery:
    """One query that reads folders of JSON files, and runs a batch when it is told to."""

    def __init__(self, spark: Any, folder: Path, streams: int) -> None:
        from headway.spark.runtime import Runtime

        folder.mkdir(parents=True, exist_ok=True)
        self.hand = ScriptedOrder()
        self.rt = Runtime(spark, self.hand, journal=folder / "journal.db")
        assert self.rt.plane is not None
        self.rt.plane.post(Use(guards=()))
        self.folders = [folder / f"stream-{i}" for i in range(streams)]
        for place in self.folders:
            place.mkdir(exist_ok=True)
        self.raw = [spark.readStream.schema(SCHEMA).json(str(place)) for place in self.folders]
        self.folder, self._files = folder, 0
        self.query: Any = None

    def start(self, frame: Any, name: str, mode: str = "append", sink: str = "json") -> None:
        writer = frame.writeStream.outputMode(mode).format(sink).option("path", str(self.folder / "out"))
        self.query = self.rt.start(writer, name=name, checkpoint=str(self.folder / "checkpoint"))
        self._wait()

    def run(self, batches: Sequence[Batch]) -> None:
        for rows, watermark_ms in batches:
            for place, mine in zip(self.folders, rows, strict=True):
                if mine:
                    self._write(place, mine)
            self.hand.steps.append(watermark_ms)
            self.rt.use(self.hand)  # wake up
            self._wait()

    def stop(self) -> None:
        self.rt.stop()

    def results(self) -> list[dict[str, Any]]:
        """What was put out, in the order in which it was, as Spark's own log of the sink tells."""
        log = self.folder / "out" / "_spark_metadata"
        found: list[dict[str, Any]] = []
        for batch in sorted((p for p in log.iterdir() if p.name.isdigit()), key=lambda p: int(p.name)):
            for entry in map(json.loads, batch.read_text().splitlines()[1:]):
                path = Path(entry["path"].removeprefix("file://"))
                found += [json.loads(line) for line in path.read_text().splitlines()]
        return found

    def _write(self, place: Path, rows: Sequence[Row]) -> None:
        self._files += 1
        hidden = place / f".{self._files}"
        lines = (json.dumps({"ts": stamp(at), "k": k, "v": v}) + "\n" for at, k, v in rows)
        hidden.write_text("".join(lines))
        hidden.rename(place / f"{self._files:06}-{id(self)}.json")

    def _wait(self) -> None:
        """Until the query is back at the gate."""
        end = time.monotonic() + PATIENCE_S
        while self.hand.steps or not self._at_gate:
            if (error := self.query.exception()) is not None:
                raise error
            assert time.monotonic() < end, "the query did not come back to the gate"
            time.sleep(0.005)

    @property
    def _at_gate(self) -> bool:
        told = self.rt.status().query(self.query.name)
        return told is not None and told.state == "at the gate"


def number(key: int, rows: list[Any], state: int | None) -> tuple[list[tuple[Any, ...]], int]:
    """Says of each row the how-manieth of its key it is: any change of order changes the result."""
    first = (state or 0) + 1
    made = [(key, first + i, r.ts, r.v, r.source, r.late, r.passed) for i, r in enumerate(rows)]
    return made, first + len(rows) - 1


def streams(seed: int, count: int = 3, rows: int = 60, keys: int = 4, span_ms: int = 10_000) -> list[list[Row]]:
    """Streams whose rows come in the order of their time; many rows fall into one moment."""
    dice = random.Random(seed)
    moments = [sorted(dice.randrange(1, span_ms // 20) * 20 for _ in range(rows)) for _ in range(count)]
    return [[(at, dice.randrange(keys), 1000 * s + i) for i, at in enumerate(mine)] for s, mine in enumerate(moments)]


def interleaving(all_rows: Sequence[Sequence[Row]], seed: int, batches: int) -> Iterator[Batch]:
    """The streams cut into batches at random. The watermark follows the slowest stream, so that no row is late."""
    dice = random.Random(seed)
    cuts = [[0, *sorted(dice.randrange(len(mine) + 1) for _ in range(batches - 1)), len(mine)] for mine in all_rows]
    end = max(mine[-1][0] for mine in all_rows) + 1
    for i in range(batches):
        rows = [list(mine[c[i] : c[i + 1]]) for mine, c in zip(all_rows, cuts, strict=True)]
        for mine in rows:
            dice.shuffle(mine)  # within a batch nothing is in order
        reached = [mine[c[i + 1] - 1][0] if c[i + 1] else 0 for mine, c in zip(all_rows, cuts, strict=True)]
        yield rows, end if i == batches - 1 else min(reached)
    yield [[] for _ in all_rows], end + 1  # a watermark is acted upon by the batch after its own


def in_order(found: Sequence[dict[str, Any]]) -> dict[int, list[tuple[Any, ...]]]:
    """The results key by key, as they came."""
    keys: dict[int, list[tuple[Any, ...]]] = {}
    for row in found:
        keys.setdefault(row["k"], []).append(tuple(row.get(f) for f in ("n", "ts", "v", "source", "late", "passed")))
    return keys


def merged(driven: DrivenQuery) -> Any:
    return driven.rt.merge(driven.raw, on="k", time="ts", ties="v", step=number, output=OUTPUT, patience="1 s", buckets=4)


def sequences(spark: Any, folder: Path, seed: int, batches: int = 4) -> dict[int, list[tuple[Any, ...]]]:
    """The same rows in the interleaving of this seed, through a real query; what came out of it, key by key."""
    all_rows = streams(seed=0)
    driven = DrivenQuery(spark, folder, len(all_rows))
    try:
        driven.start(merged(driven), f"merge-{seed}")
        driven.run(list(interleaving(all_rows, seed, batches)))
    finally:
        driven.stop()
    return in_order(driven.results())


def truth(all_rows: Sequence[Sequence[Row]]) -> dict[int, list[int]]:
    """What must come out: the values of each key, by moment, stream and value."""
    keys: dict[int, list[int]] = {}
    for _, _, v, k in sorted((at, s, v, k) for s, mine in enumerate(all_rows) for at, k, v in mine):
        keys.setdefault(k, []).append(v)
    return keys


@dataclass(frozen=True, slots=True)
class MergeCost:
    """Rows per second of a query's batches, from start to end of each."""

    merge: float
    aggregate: float


def cost(spark: Any, folder: Path, rows: int, keys: int, batches: int, rounds: int) -> list[MergeCost]:
    """Both kinds of query over the same rows, in turns; the first batches of each, which warm up, are not counted."""
    found = []
    for i in range(rounds):
        merge = _rate(spark, folder / f"merge-{i}", True, rows, keys, batches)
        found.append(MergeCost(merge, _rate(spark, folder / f"aggregate-{i}", False, rows, keys, batches)))
    return found


def _rate(spark: Any, folder: Path, merging: bool, rows: int, keys: int, batches: int) -> float:
    driven = DrivenQuery(spark, folder, 2)
    try:
        if merging:
            frame = driven.rt.merge(
                driven.raw, on="k", time="ts", step=_total, output="k int, n int, v long", patience="1 s"
            )
        else:
            both = driven.raw[0].union(driven.raw[1])
            frame = driven.rt.watermark(both, "ts", "1 s").groupBy("k").agg({"v": "sum", "*": "count"})
            frame = frame.toDF("k", "v", "n")
        driven.start(frame, folder.name, "append" if merging else "update", "noop")
        for batch in range(batches):
            made = [[(1000 * batch + i % 1000, (7 * i + s) % keys, i) for i in range(rows // 2)] for s in (0, 1)]
            driven.run([(made, 1000 * (batch + 1))])
        seen = [p for p in driven.query.recentProgress if p["numInputRows"] >= rows][2:]
    finally:
        driven.stop()
    return median(1000.0 * rows / int(p["durationMs"]["triggerExecution"]) for p in seen)


def _total(key: int, rows: list[Any], state: tuple[int, int] | None) -> tuple[list[tuple[int, int, int]], tuple[int, int]]:
    n, total = state or (0, 0)
    state = n + len(rows), total + sum(row.v for row in rows)
    return [(key, *state)], state


def stamp(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
