"""The control source: gate, watermark and decision log of a query, as one tiny streaming source.

This is the source for sessions without Headway's jar, which has the same as a Java class (`jvm/headway/Control.java`).
Spark runs the reader in a process of its own on the driver's host, and pickles this module and the offset's into it by value
(see `CARRIED`), so it needs nothing but the standard library and pyspark, there and on the executors.
Rows are a pure function of two offsets, and Spark logs offsets before it runs a batch: a replay decides the same again.

Unlike the Java class it sees nothing of its query: it does not know which one that is, nor how far its rows have come.
"""

import json
import socket
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

from headway.model.offset import ControlOffset
from headway.spark.channel.offset_text import OffsetFields, fields_of, offset_of, text_of

try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

    CAN_END = True
except ImportError:  # before Spark 4.2 a run of what is there is one batch for a Python source, which closes no window
    CAN_END = False

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """A part of the interface that Spark does not call here."""


# Spark's watermark is the newest event time minus a constant. With ten years of delay no data row ever moves it, and a
# control row stamped ten years after the target sets it to exactly the target.
SHIFT_DAYS = 3650
SHIFT_MS = SHIFT_DAYS * 86_400_000
FORMAT = "headway-control-python"
LOST_S = 1.0  # between two batches of a query that has lost its gate, or between two steps of its watermark
IDLE_S = 0.1  # between two looks for rows where the gate has put the query aside

CARRIED = ("headway.model.offset", "headway.spark.channel.offset_text", __name__)  # modules that are pickled by value
Row = tuple[datetime]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ControlReader(SimpleDataSourceStreamReader, SupportsTriggerAvailableNow):
    """Asks the controller at every read, and blocks until it may go on: while it blocks, Spark plans no batch."""

    def __init__(self, options: dict[str, str]) -> None:
        self._address = (options["host"], int(options["port"]))
        self._greeting: dict[str, Any] = {"secret": options["secret"]}
        self._patience_ms = 0
        self._awaited: tuple[int, float] = (-1, 0.0)  # a watermark that was announced, and until when it must not be swept
        self._wire: Any = None
        self._said = ""
        main = getattr(sys.modules.get("__main__"), "__spec__", None)
        if main is not None and main.name.endswith("python_streaming_source_runner"):
            # Say hello as early as can be: the runtime starts queries one by one to know which of them is calling.
            # (Spark also builds readers in other processes, which never read; those must not call.)
            self._connected()

    def initialOffset(self) -> OffsetFields:
        return fields_of(ControlOffset())

    def prepareForTriggerAvailableNow(self) -> None:
        """Nothing to settle: a read that finds nothing new returns the offset it was given, and then the run ends."""

    def read(self, start: OffsetFields) -> tuple[Iterator[Row], OffsetFields]:
        end = fields_of(self.next(_logged(start)))
        return self.readBetweenOffsets(start, end), end

    def readBetweenOffsets(self, start: OffsetFields, end: OffsetFields) -> Iterator[Row]:
        return iter([(moment,) for moment in moments(_logged(start), _logged(end))])

    def commit(self, end: OffsetFields) -> None:
        """Nothing to forget: Spark's own log holds all there is."""

    def next(self, start: ControlOffset) -> ControlOffset:
        """Where the next batch ends if it begins at `start`; may block."""
        while True:
            answer = self._ask(start)
            if answer is not None and "offset" in answer:
                self._said = ""
                end = offset_of(answer["offset"])
                if (now := answer.get("now")) is not None:
                    self._await(end.wm, now)
                return end
            first = "the gate cannot be reached: a query goes on ungated" if answer is None else "it goes on ungated"
            self._say(f"{first}, and its watermark stays where it is: only with Headway's jar can rows move it")
            early_s = self._early_s(start)
            if early_s <= 0:
                time.sleep(LOST_S if answer is None else IDLE_S)
                # An offset that stays as it is makes no batch, unless a source has rows.
                return start
            time.sleep(min(early_s, LOST_S))

    def _early_s(self, start: ControlOffset) -> float:
        """How long a watermark that was announced ahead must still wait before a batch may act upon it."""
        if not start.live:
            return 0.0
        if start.wm != self._awaited[0]:  # an earlier run of this query was told of it: only the wall clock is left
            self._await(start.wm, int(time.time() * 1000))
        return self._awaited[1] - time.monotonic()

    def _await(self, watermark: int, now: int) -> None:
        """It is announced at the moment `now` of the clock that rules it; from here on by the clock that cannot be set."""
        self._awaited = (watermark, time.monotonic() + (watermark + self._patience_ms - now) / 1000)

    def _connected(self) -> bool:
        if self._wire is not None:
            return True
        try:
            # A fresh connection gets five seconds to answer; a grant may take hours.
            link = socket.create_connection(self._address, timeout=5)
            wire = link.makefile("rwb")
            wire.write(json.dumps(self._greeting).encode() + b"\n")
            wire.flush()
            answer = json.loads(wire.readline())
            link.settimeout(None)
        except (OSError, ValueError):
            return False
        if "refused" in answer:
            link.close()
            raise RuntimeError(f"headway: {answer['refused']}")
        self._greeting["line"] = answer["line"]  # by which the gate knows us when we call again
        self._patience_ms = answer["patience_ms"]
        self._wire = wire
        return True

    def _ask(self, start: ControlOffset) -> dict[str, Any] | None:
        """The gate's answer; None if there is no gate. A line that was cut is laid anew, once."""
        for _ in range(2):
            if not self._connected():
                return None
            try:
                self._wire.write(text_of(start).encode() + b"\n")
                self._wire.flush()
                answer: dict[str, Any] = json.loads(self._wire.readline())
                return answer
            except (OSError, ValueError):
                self._wire = None
        return None

    def _say(self, text: str) -> None:
        """Say it, unless it is what was said last."""
        if text != self._said:
            self._said = text
            sys.stderr.write(f"headway: {text}\n")  # a worker need not have Headway: nothing of ours is imported here
            sys.stderr.flush()


def moments(start: ControlOffset, end: ControlOffset) -> list[datetime]:
    """The control rows of the batch between two offsets: one that moves Spark's watermark, or none."""
    return [_EPOCH + timedelta(milliseconds=end.wm + SHIFT_MS)] if end.wm > start.wm else []


def _logged(fields: OffsetFields) -> ControlOffset:
    """As Spark has it in its log."""
    try:
        return offset_of(fields)
    except ValueError as error:
        raise RuntimeError(f"headway: the checkpoint goes on {error}") from None


class ControlSource(DataSource):
    """One timestamp column `at`: the moment that moves Spark's watermark."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return "at timestamp"

    def simpleStreamReader(self, schema: Any) -> ControlReader:
        return ControlReader(dict(self.options))
