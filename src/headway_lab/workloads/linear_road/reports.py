"""What vehicles send: position reports (type 0) and questions (types 2, 3 and 4), as rows of a feed and as columns.

`recorded_reports()` is the real input of the first 324 s. Fields that a type does not use are -1, as in that input.
"""

import json
import lzma
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway_lab.workloads import data
from headway_lab.workloads.feed import Feed, parsed

Longs = NDArray[np.int64]

FILE = "linear_road/linear_road_input_0-323s_derived.csv.xz"
FIELDS = ("type", "vid", "spd", "xway", "lane", "dir", "seg", "pos", "qid", "s_init", "s_end", "dow", "tod", "day")
SCHEMA = ", ".join(["event_ms bigint", *(f"{field} int" for field in FIELDS)])

POSITION, BALANCE, EXPENDITURE, TRAVEL = 0, 2, 3, 4  # types
ENTRY, EXIT = 0, 4  # lanes; 1 to 3 are for travelling
SEGMENTS, FEET = 100, 5_280  # an expressway has 100 segments of one mile
EVERY_MS, MINUTE_MS = 30_000, 60_000

_BODY = ",".join(f'"{field}":%d' for field in FIELDS).encode()


@dataclass(frozen=True, eq=False)
class VehicleReports:
    """Rows as columns: all of one length, in the order of the feed."""

    event_ms: Longs
    fields: dict[str, Longs]  # one array for each of FIELDS

    def __getitem__(self, field: str) -> Longs:
        return self.fields[field]

    def __len__(self) -> int:
        return len(self.event_ms)

    def of_type(self, kind: int) -> "VehicleReports":
        return self.taken(np.flatnonzero(self["type"] == kind))

    def taken(self, rows: Longs) -> "VehicleReports":
        """The rows with these indices, in this order."""
        return VehicleReports(self.event_ms[rows], {name: values[rows] for name, values in self.fields.items()})

    def feed(self, name: str) -> Feed:
        """The rows as a feed in which nothing is late. Rows of one vehicle share a key."""
        rows = zip(*(self[field].tolist() for field in FIELDS), strict=True)
        key = [b"%d" % vid for vid in self["vid"].tolist()]
        return Feed.of(name, self.event_ms, self.event_ms, [_BODY % row for row in rows], key)


def columns(feed: Feed) -> VehicleReports:
    """The rows of a feed, parsed in one go: one call of the parser for each row would take most of the time."""
    rows: list[dict[str, Any]] = json.loads(b"[{" + b"},{".join(feed.body) + b"}]") if len(feed) else []
    return VehicleReports(feed.event_ms, {name: np.array([row[name] for row in rows], dtype=np.int64) for name in FIELDS})


def recorded_reports() -> Feed:
    """The first 324 s of the benchmark's own input: one expressway, 20,368 rows, one accident."""
    with lzma.open(data.find(FILE), "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.int64, ndmin=2)
    kind, seconds, *rest = table.T
    return VehicleReports(seconds * 1_000, dict(zip(FIELDS, [kind, *rest], strict=True))).feed("linear-road")


def is_type(*kinds: int) -> str:
    """The SQL for rows of these types, which Spark does not look at before it has read the watermark off all rows.

    It moves a plain `type = 4` ahead of the watermark. The clock would then be that of the rare questions alone, and as
    a query goes by the slowest of its watermarks, the other streams would wait for one.
    """
    return "(" + " or ".join(f"type = if(event_time is null, -1, {kind})" for kind in kinds) + ")"


def typed(rows: Any) -> Any:
    """The reports in column `value`, beside the other columns."""
    return parsed(rows, SCHEMA)
