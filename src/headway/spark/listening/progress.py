"""Spark's progress report, read once. Nothing past this file sees Spark's dictionary."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from headway.loop.sampler import CELL_MS
from headway.model.message import BatchSeen, InputSeen, Part, PartSeen
from headway.model.sampling import GroupSeen, SubStreamSeen
from headway.model.time import EventMs, WallMs
from headway.spark.plan import metric_label
from headway.spark.tally import DELAYS, FASTEST, FUTURE, NEWEST, TALLY


def batch_seen(progress: Mapping[str, Any], name: str | None = None) -> BatchSeen | None:
    """The finished batch that `progress` reports; None for an idle report, which tells of no batch."""
    durations = progress["durationMs"]
    if "addBatch" not in durations:
        return None
    began = wall_ms(progress["timestamp"])
    waited = durations.get("latestOffset", 0)  # the wait at the gate is in here
    states = progress.get("stateOperators") or []
    watermark = (progress.get("eventTime") or {}).get("watermark")
    observed = progress.get("observedMetrics") or {}
    return BatchSeen(
        query=name or progress["name"] or progress["id"],
        batch=progress["batchId"],
        began=WallMs(began + waited),
        ended=WallMs(began + durations["triggerExecution"]),
        took_ms=durations["triggerExecution"] - waited,
        rows=progress["numInputRows"],
        # Spark starts every watermark at the epoch; that is "none yet", not 1970.
        watermark=EventMs(wall_ms(watermark)) if watermark and wall_ms(watermark) > 0 else None,
        inputs=tuple(_input_seen(label, row) for name, row in observed.items() if (label := metric_label(name)) is not None),
        state_rows=sum(s["numRowsTotal"] for s in states),
        state_updated=states[-1]["numRowsUpdated"] if states else progress["numInputRows"],
        state_bytes=sum(s["memoryUsedBytes"] for s in states),
        dropped=sum(s["numRowsDroppedByWatermark"] for s in states),
        left=any(_left(s) for s in progress.get("sources", ())),
        read=tuple(
            (s["description"], _ends(s["endOffset"])) for s in progress.get("sources", ()) if is_kafka(s["description"])
        ),
    )


def _left(source: Mapping[str, Any]) -> bool:
    """Whether a source had more than it handed out; one that does not say counts as one that had not."""
    latest, end = (json.loads(o) if isinstance(o, str) else o for o in (source.get("latestOffset"), source.get("endOffset")))
    return latest is not None and latest != end


def is_kafka(description: str) -> bool:
    return description.startswith("KafkaV2[")


def rows_of(offsets: Any) -> int:
    """Rows of all partitions before these offsets, which Spark gives as an object, or as the text of one."""
    return sum(_ends(offsets).values())


def _ends(offsets: Any) -> dict[Part, int]:
    read = json.loads(offsets) if isinstance(offsets, str) else offsets or {}
    return {(topic, int(number)): end for topic, parts in read.items() for number, end in parts.items()}


def _input_seen(name: str, row: Mapping[str, Any]) -> InputSeen:
    row = json.loads(row[TALLY]) if TALLY in row else row
    future = row.get(FUTURE) or 0
    cells = [(index, round(rows), sums) for index, rows, *sums in row.get("subs", ())]
    return InputSeen(
        name=name,
        rows=row["rows"],
        newest=row["newest"],
        oldest=row["oldest"],
        delays=_histogram(row["delays"]),
        old=(
            *((int(b["x"] * CELL_MS), float(b["y"])) for b in row["old"] or ()),
            *((index * CELL_MS, float(rows)) for index, rows, _ in cells),
        ),
        timeless=row["rows"] - row["timed"] - future,
        future=future,
        foremost=row.get("foremost", row["newest"]),
        parts=tuple(
            PartSeen(
                int(key.removeprefix(NEWEST)),
                EventMs(value),
                float(row[key.replace(NEWEST, FASTEST)]),
                _histogram(row.get(key.replace(NEWEST, DELAYS))),
            )
            for key, value in row.items()
            if key.startswith(NEWEST) and value is not None
        ),
        substreams=tuple(SubStreamSeen(index, rows, *sums) for index, rows, sums in cells),
        groups=tuple(GroupSeen(key, round(rows), *sums) for key, rows, *sums in row.get("keys", ())),
    )


def _histogram(bins: Any) -> tuple[tuple[float, float], ...]:
    return tuple((float(b["x"]), float(b["y"])) for b in bins or ())


def phases(progress: Mapping[str, Any]) -> dict[str, float]:
    """How long a finished batch was in each phase, in ms, without the wait at the gate."""
    durations, states = progress["durationMs"], progress.get("stateOperators") or []
    state = sum(s["allUpdatesTimeMs"] + s["allRemovalsTimeMs"] + s["commitTimeMs"] for s in states)
    named = {
        "planning": durations.get("queryPlanning", 0),
        "log": durations.get("walCommit", 0),
        "tasks": max(0, durations["addBatch"] - state),  # scheduling and sending them included
        "state": state,
        "commit": durations.get("commitOffsets", 0),
    }
    whole = durations["triggerExecution"] - durations.get("latestOffset", 0)
    return named | {"rest": max(0, whole - sum(named.values()))}


def wall_ms(stamp: str) -> int:
    return round(datetime.fromisoformat(stamp).timestamp() * 1000)
