"""A gate that a test opens by hand: each step lets one batch through and waits until the query is back."""

import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from pyspark.sql import functions as F

import headway as hw
from headway.model.decision import Decision, Grant, Hold
from headway.model.message import Use
from headway.model.status import QueryStatus
from headway.model.time import EventMs, WallMs
from headway.model.view import QueryView, Snapshot
from headway.spark.plane import Plane

PATIENCE_S = 100
SCHEMA = "ts timestamp, k int, v double"


class Script:
    """Grants what it was told to, in that order, and nothing else."""

    gated: ClassVar[bool] = True

    def __init__(self) -> None:
        self.steps: deque[int | None] = deque()

    def decide(self, snap: Snapshot) -> Decision:
        if self.steps and snap.waiting:
            step = self.steps.popleft()
            return Grant(snap.waiting[0].name, None if step is None else EventMs(step), because="the test says so")
        return Hold(WallMs(snap.now + 1000), because="the test says nothing")


def wait_until(true: Callable[..., Any], what: str, query: Any = None, patience_s: float = PATIENCE_S) -> None:
    """Until that is true. To look at a table is a job of Spark, on cores that queries need: it gets a third of the time."""
    end = time.monotonic() + patience_s
    began = time.monotonic()
    while not true():
        if query is not None and query.exception() is not None:
            raise query.exception()
        assert time.monotonic() < end, f"waited in vain for {what}"
        took = time.monotonic() - began
        time.sleep(min(max(0.01, 2 * took), 0.5))
        began = time.monotonic()


def plane_of(rt: hw.Runtime) -> Plane:
    """The controller's side of a runtime whose order is gated."""
    assert rt.plane is not None
    return rt.plane


def told_of(rt: hw.Runtime, name: str) -> QueryStatus:
    """A query, as the runtime tells of it."""
    told = rt.status().query(name)
    assert told is not None, f"nothing is told of {name!r}"
    return told


def view_of(rt: hw.Runtime, name: str) -> QueryView:
    """A query, as a policy sees it."""
    view = told_of(rt, name).view
    assert view is not None, f"no policy sees {name!r}"
    return view


class Stage:
    """One query under a scripted gate, fed from folders of JSON files."""

    def __init__(
        self, spark: Any, folder: Path, inputs: Sequence[str] = ("a",), schema: str = "ts timestamp, k int, v double"
    ):
        self.spark, self.folder, self.schema = spark, folder, schema
        self.script = Script()
        self.rt = hw.Runtime(spark, self.script, journal=folder / "journal.db")
        self.plane = plane_of(self.rt)
        self.plane.post(Use(guards=()))  # what a policy may wish is tested elsewhere; here the channel is
        self.inputs = list(inputs)
        for name in inputs:
            (folder / name).mkdir(exist_ok=True)
        self.files = 0
        self.query: Any = None

    def raw(self, name: str) -> Any:
        return self.spark.readStream.schema(self.schema).json(str(self.folder / name))

    def static(self, name: str) -> Any:
        return self.spark.read.schema(self.schema).json(str(self.folder / name))

    def watermarked(self, name: str, patience: str = "1 second") -> Any:
        return self.rt.watermark(self.raw(name), "ts", patience, name=name)

    def put(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        """One file, complete at once; `ts` in seconds."""
        self.files += 1
        path = self.folder / name / f".{self.files}"
        path.write_text("".join(json.dumps({**r, "ts": stamp(r["ts"])}) + "\n" for r in rows))
        path.rename(self.folder / name / f"{self.files}-{id(self)}.json")

    def start(self, frame: Any, mode: str = "append", table: str = "staged", checkpoint: str = "checkpoint") -> Any:
        writer = frame.writeStream.outputMode(mode).format("memory")
        self.query = self.rt.start(writer, name=table, checkpoint=str(self.folder / checkpoint))
        wait_until(lambda: self.at_gate, "the first question at the gate", self.query)
        return self.query

    @property
    def at_gate(self) -> bool:
        told = self.rt.status().query(self.query.name)
        return told is not None and told.state == "at the gate"

    @property
    def told(self) -> QueryStatus:
        return told_of(self.rt, self.query.name)

    @property
    def view(self) -> QueryView:
        return view_of(self.rt, self.query.name)

    @property
    def batch(self) -> int:
        """The number of the last batch."""
        last = self.told.last
        assert last is not None
        return last.number

    def step(self, watermark_s: float | None = None) -> None:
        """Let one batch through, announcing a watermark (in seconds), and wait until it is done."""
        self.script.steps.append(None if watermark_s is None else round(watermark_s * 1000))
        self.rt.use(self.script)  # wake up
        wait_until(lambda: not self.script.steps and self.at_gate, "the end of a batch", self.query)

    @property
    def watermark_s(self) -> float:
        """The watermark by which the last batch emitted."""
        return self.view.swept / 1000

    def notes(self) -> list[str]:
        from headway.loop.journal import JournalReader

        self.plane.journal._pause.set()
        return [text for _, text in JournalReader(self.folder / "journal.db").notes(self.query.name)]

    def out(self) -> list[str]:
        """All rows put out so far, as sorted text: some hold nulls, which do not sort."""
        return sorted(map(repr, self.spark.table(self.query.name).collect()))

    def close(self) -> None:
        self.rt.stop()


def stamp(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()


def counts(frame: Any) -> Any:
    """Rows by key in windows of three seconds."""
    return (
        frame.groupBy(F.window("ts", "3 seconds"), "k").count().selectExpr("unix_millis(window.end) as e", "k", "count as n")
    )
