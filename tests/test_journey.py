"""The journey of one decision is as `docs/architecture.md` tells it: few stations, each room entered once, in this order."""

import json
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import dropwhile, groupby
from pathlib import Path
from types import FrameType
from typing import Any

from headway.loop.capacity import Capacity
from headway.loop.controller import Controller
from headway.model.deadline import Deadlines, Grid
from headway.model.message import InputSpec, QuerySpec
from headway.model.offset import ControlOffset
from headway.model.time import VirtualClock
from headway.policy.order import Klink
from headway.spark.channel.control import ControlReader
from headway.spark.channel.gate import Gate
from headway.spark.channel.leased_gate import LeasedGate
from headway.spark.listening.reports import BatchReports
from headway.testing import Notebook, VirtualWorld

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "headway"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
STATIONS = re.findall(r"^\| \d+ \| `([\w/]+\.py)` \|", PAGE, re.MULTILINE)
PICTURE = (ROOT / "docs" / "pictures" / "journey.svg").read_text("utf-8")


def room(station: str) -> str:
    """`spark/channel` for spark/channel/gate.py; of a room with parts of one kind, such as `policy/order`, the room."""
    first, *rest = Path(station).parent.parts
    return "/".join([first, *rest]) if first == "spark" else first


def test_there_are_at_most_twelve_stations_and_each_is_a_file() -> None:
    assert 8 <= len(STATIONS) <= 12 and len(set(STATIONS)) == len(STATIONS)
    assert [station for station in STATIONS if not (SRC / station).is_file()] == []


def test_no_room_is_entered_twice() -> None:
    entered = [name for name, _ in groupby(map(room, STATIONS))]
    assert len(entered) == len(set(entered)) >= 4


def test_the_picture_shows_the_stations_of_the_page_in_its_order() -> None:
    assert "pictures/journey.svg" in PAGE
    assert re.findall(r"<title>([\w/]+\.py)</title>", PICTURE) == STATIONS


def test_a_decision_in_virtual_time_comes_past_the_stations_in_this_order() -> None:
    """The gate's socket and the control source are live; Spark's report is a text, and the clock is turned by hand."""
    clock = VirtualClock(10_000)
    query = ReportingQuery()
    controller: Controller

    def asked(name: str) -> None:
        reports.read(name, query)

    gate = Gate(lambda message: controller.post(message), asked, now=clock.now)
    controller = Controller(clock, Klink(), LeasedGate(gate, NoLeases()), Notebook(), Capacity(VirtualWorld(Klink()), 1))
    reports = BatchReports(controller.post, lambda *read: None)
    gate.expect(QuerySpec("q", (InputSpec("a", 500),), Deadlines((Grid(1_000),)), ahead=False), nameless=True)
    seen: list[tuple[str, str]] = []
    with traced(seen):
        reader = ControlReader({"host": "127.0.0.1", "port": str(gate.port), "secret": gate.secret})
        first = let_through(reader, ControlOffset(), controller, clock)
        query.last = Report()
        seen.clear()
        second = let_through(reader, first, controller, clock)
    gate.close()
    assert second.seq > first.seq and controller.queries["q"].batches
    on_line = dropwhile(lambda file: room(file) != "spark/listening", of(seen, "headway-line"))
    on_its_way = [*firsts(on_line)]
    on_its_way = on_its_way[: on_its_way.index("loop/inbox.py")]  # posted: from here on the thread that decides has it
    assert [
        file for file in firsts([*on_its_way, *of(seen, "MainThread"), *of(seen, "asking")]) if file in STATIONS
    ] == STATIONS


class Report:
    """Spark's report of a batch, as its object has it."""

    def json(self) -> str:
        tally = {"rows": 5, "timed": 5, "newest": 9_900, "oldest": 9_100, "delays": [{"x": 100.0, "y": 5.0}], "old": []}
        return json.dumps({
            "name": "q", "id": "1", "batchId": 0, "timestamp": "1970-01-01T00:00:10.000Z", "numInputRows": 5,
            "durationMs": {"addBatch": 5, "triggerExecution": 20},
            "observedMetrics": {"headway:a/500": {"tally": json.dumps(tally)}},
        })  # fmt: skip

    def equals(self, other: Any) -> bool:
        return other is self


class ReportingQuery:
    """What `BatchReports` knows of a streaming query."""

    def __init__(self) -> None:
        self._jsq = self
        self.last: Report | None = None

    def lastProgress(self) -> Report | None:
        return self.last


class NoLeases:
    def of(self, name: str) -> None:
        return None


def let_through(reader: ControlReader, start: ControlOffset, controller: Controller, clock: VirtualClock) -> ControlOffset:
    """Ask as Spark does before a batch; here the controller decides until the query may go on."""
    ends: list[ControlOffset] = []
    asking = threading.Thread(target=lambda: ends.append(reader.next(start)), name="asking")
    asking.start()
    for _ in range(600):
        assert controller.step(0.1) is not None
        asking.join(0.01)
        if not asking.is_alive():
            break
        clock.at += 100
    return ends[0]


@contextmanager
def traced(seen: list[tuple[str, str]]) -> Iterator[None]:
    """Which files of ours are called, on which thread; of threads that begin from here on, and of this one."""

    def look(frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(f"{SRC}/"):
            seen.append((threading.current_thread().name, file.removeprefix(f"{SRC}/")))

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def of(seen: list[tuple[str, str]], thread: str) -> list[str]:
    return [file for name, file in seen if name == thread]


def firsts(files: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(files))
