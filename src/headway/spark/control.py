"""The control source: gate, watermark and decision log of a query, as one tiny streaming source.

This is the source for sessions without Headway's jar, which has the same as a Java class (`jvm/headway/Control.java`).
Spark runs the reader in a process of its own on the driver's host, and pickles this module into it by value, so the module
needs nothing but the standard library and pyspark, there and on the executors. An offset is
`{"seq": n, "wm": ms, "live": 0 or 1}`: the grant's number, the announced watermark, whether the wall clock rules it.
Rows are a pure function of two offsets, and Spark logs offsets before it runs a batch: a replay decides the same again.
"""

import json
import socket
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

# Spark's watermark is the newest event time minus a constant. With ten years of delay no data row ever moves it, and a
# control row stamped ten years after the target sets it to exactly the target.
SHIFT_DAYS = 3650
SHIFT_MS = SHIFT_DAYS * 86_400_000
FORMAT = "headway-control-python"

Offset = dict[str, int]
Row = tuple[datetime]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ControlReader(SimpleDataSourceStreamReader):
    """Asks the controller at every read, and blocks until it may go on: while it blocks, Spark plans no batch."""

    def __init__(self, options: dict[str, str]) -> None:
        self._address = (options["host"], int(options["port"]))
        self._secret = options["secret"]
        self._fallback_ms = int(options["fallback_ms"])
        self._wire: Any = None
        self._said = False
        main = getattr(sys.modules.get("__main__"), "__spec__", None)
        if main is not None and main.name.endswith("python_streaming_source_runner"):
            # Say hello as early as can be: the runtime starts queries one by one to know which of them is calling.
            # (Spark also builds readers in other processes, which never read; those must not call.)
            self._connected()

    def initialOffset(self) -> Offset:
        return {"seq": 0, "wm": 0, "live": 0}

    def read(self, start: Offset) -> tuple[Iterator[Row], Offset]:
        end = self._ask(start) or self._ungated(start)
        return self.readBetweenOffsets(start, end), end

    def readBetweenOffsets(self, start: Offset, end: Offset) -> Iterator[Row]:
        if end["wm"] <= start["wm"]:
            return iter([])
        return iter([(_EPOCH + timedelta(milliseconds=end["wm"] + SHIFT_MS),)])

    def commit(self, end: Offset) -> None:
        """Nothing to forget: Spark's own log holds all there is."""

    def _connected(self) -> bool:
        if self._wire is not None:
            return True
        try:
            # A fresh connection gets five seconds to answer; a grant may take hours.
            link = socket.create_connection(self._address, timeout=5)
            wire = link.makefile("rwb")
            wire.write(json.dumps({"secret": self._secret}).encode() + b"\n")
            wire.flush()
            answer = json.loads(wire.readline())
            if "error" in answer:
                self._warn(answer["error"])
                link.close()
                return False
            link.settimeout(None)
            self._wire = wire
        except (OSError, ValueError):
            return False
        return True

    def _ask(self, start: Offset) -> Offset | None:
        """The offset up to which the controller lets us go; None if there is no controller."""
        if not self._connected():
            return None
        try:
            self._wire.write(json.dumps(start).encode() + b"\n")
            self._wire.flush()
            end: Offset = json.loads(self._wire.readline())
        except (OSError, ValueError):
            self._wire = None
            return None
        self._said = False
        return end

    def _ungated(self, start: Offset) -> Offset:
        """Without a controller a query goes on, once a second, its watermark behind the clock by a stated delay."""
        if not self._said:
            self._warn(f"controller unreachable: going on ungated, watermark {self._fallback_ms} ms behind the wall clock")
            self._said = True
        time.sleep(1)
        if not start["live"]:  # the rows are old ones: the wall clock would declare them all late
            return {**start, "seq": start["seq"] + 1}
        behind = int(time.time() * 1000) - self._fallback_ms
        return {"seq": start["seq"] + 1, "wm": max(start["wm"], behind), "live": 1}

    @staticmethod
    def _warn(text: str) -> None:
        sys.stderr.write(f"headway: {text}\n")
        sys.stderr.flush()


class ControlSource(DataSource):
    """One timestamp column `at`: the moment that moves Spark's watermark."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return "at timestamp"

    def simpleStreamReader(self, schema: Any) -> ControlReader:
        return ControlReader(dict(self.options))
