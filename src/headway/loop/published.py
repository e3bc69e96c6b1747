"""The status of a runtime as a file beside its journal, for readers in other processes. What they see cannot be changed.

It holds what the journal does not: how queries stand now, where their pages in Spark's own UI are, what decisions cost.
The views are left out: the journal has them.
"""

import contextlib
import json
import os
import tempfile
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from headway.model.status import InputStatus, LastBatch, QueryStatus, RuntimeStatus

SUFFIX = ".status"
MOST_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class PublishedStatus:
    """What a runtime has told."""

    status: RuntimeStatus
    ui: str = ""  # the address of Spark's own pages
    pid: int = 0  # of its process


def place_of(journal: Path) -> Path:
    return journal.with_name(journal.name + SUFFIX)


def written(told: PublishedStatus) -> str:
    """As JSON."""
    lean = tuple(
        replace(q, view=None, inputs=tuple(replace(i, sampling=None) for i in q.inputs)) for q in told.status.queries
    )
    return json.dumps(_plain(replace(told, status=replace(told.status, queries=lean))), separators=(",", ":"))


def publish(told: PublishedStatus, path: Path) -> None:
    """Put it there in one step: a reader finds this one or the one before. Only its owner may read it."""
    handle, half = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(written(told))
        os.replace(half, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(half)
        raise


def read(path: Path) -> PublishedStatus | None:
    """What was told last; None where nothing was, or where another version of us has told it."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        raw = json.loads(path.read_text("utf-8"))
        status = raw["status"]
        queries = tuple(_query(query) for query in status.pop("queries"))
        return PublishedStatus(RuntimeStatus(queries=queries, **status), str(raw["ui"]), int(raw["pid"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _query(raw: dict[str, Any]) -> QueryStatus:
    last, inputs = raw.pop("last"), raw.pop("inputs")
    known = tuple(InputStatus(**one) for one in inputs)
    return QueryStatus(last=None if last is None else LastBatch(**last), inputs=known, **raw)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    return [_plain(one) for one in value] if isinstance(value, tuple) else value
