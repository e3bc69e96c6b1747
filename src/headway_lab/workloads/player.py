"""Recorded rows played back as they came in, within Spark: a stand-in for a log with topics, where there is no broker.

The rows of all topics lie in one file, in the order of arrival. An offset is how many of them have come in, so the rows
between two offsets are always the same ones, whenever they are read. A query has one such source, a small Python process on
the driver's host, however many topics it reads: rows go to Spark with the offset, and no task starts a worker.

Spark pickles this module into that process by value: import nothing here that is not needed to play.
"""

import json
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

NAME = "headway-player"

Offset = dict[str, int]
Row = tuple[str, str, datetime]


class PlayerReader(SimpleDataSourceStreamReader):
    """Hands out what has come in by now; nothing as long as there is no file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._tape: dict[str, list[Any]] | None = None

    @property
    def tape(self) -> dict[str, list[Any]]:
        if self._tape is None and Path(self._path).exists():
            self._tape = json.loads(Path(self._path).read_text("utf-8"))
        return self._tape or {"at": [], "topic": [], "value": []}

    def initialOffset(self) -> Offset:
        return {"rows": 0}

    def read(self, start: Offset) -> tuple[Iterator[Row], Offset]:
        # The wall clock may be set back; an offset must never decrease.
        end = {"rows": max(start["rows"], bisect_right(self.tape["at"], int(time.time() * 1_000)))}
        return self.readBetweenOffsets(start, end), end

    def readBetweenOffsets(self, start: Offset, end: Offset) -> Iterator[Row]:
        part = slice(start["rows"], end["rows"])
        came = (datetime.fromtimestamp(at / 1_000, UTC) for at in self.tape["at"][part])
        return zip(self.tape["topic"][part], self.tape["value"][part], came, strict=True)

    def commit(self, end: Offset) -> None:
        """Nothing to forget: the file stays."""


class PlayerSource(DataSource):
    """Rows of the file that option `path` names."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return "topic string, value string, timestamp timestamp"

    def simpleStreamReader(self, schema: Any) -> PlayerReader:
        return PlayerReader(self.options["path"])


def record(topics: Mapping[str, Any], path: Path) -> None:
    """Write the rows of feeds (`headway_lab.workloads.feed.Feed`), by topic, into a file that can be played.

    Queries may be started before there is the file: so they are ready when its first row comes in.
    """
    rows = [(at, topic, value.decode()) for topic, feed in topics.items() for at, value, _ in feed.rows()]
    rows.sort(key=lambda row: row[0])  # those that come in together stay in the order of their feed
    tape = {"at": [at for at, _, _ in rows], "topic": [t for _, t, _ in rows], "value": [v for _, _, v in rows]}
    unfinished = path.with_suffix(".part")  # a reader may be waiting for it already
    unfinished.write_text(json.dumps(tape), "utf-8")
    unfinished.rename(path)


def play(spark: Any, path: Path) -> Any:
    """The live stream of a file that `record` wrote. Columns as Kafka's: topic, value, timestamp (of arrival)."""
    # Here, not above: the module itself goes to every query's process.
    from headway.spark.register import register

    register(spark, PlayerSource)
    return spark.readStream.format(NAME).option("path", str(path)).load()
