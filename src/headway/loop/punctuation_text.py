"""A punctuation as text, which is the value of its record in the topic.

    #{"version":1,"stage":"minutes","lineage":"0d1c..","incarnation":2,"batch":17,"planned":"6f..","partitions":4, ...}

Rows are JSON objects, so that none begins as a punctuation does. A text of a newer version is refused; fields that are not
known are passed over, so that a stage may say more to readers that know it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from headway.model.deadline import Grid
from headway.model.punctuation import VERSION, Punctuation, UpstreamFlow
from headway.model.time import EventMs, WallMs
from headway.model.view import DelayView

MARK = "#"
_TEXTS, _NUMBERS = ("stage", "lineage", "planned"), ("incarnation", "batch", "partitions", "at")


class UnreadablePunctuation(ValueError):
    """A record that begins as a punctuation does, and is none that can be read here."""


def punctuation_text(said: Punctuation) -> str:
    return MARK + json.dumps({"version": VERSION} | asdict(said), separators=(",", ":"))


def punctuation_in(value: str | bytes) -> Punctuation | None:
    """None: it is a row. Raises UnreadablePunctuation."""
    begins = value[:1]
    if begins not in (MARK, MARK.encode()):
        return None
    try:
        raw = json.loads(value[1:])
        version = raw["version"]
        if version != VERSION:
            raise UnreadablePunctuation(f"a punctuation of version {version!r}, and this Headway reads version {VERSION}")
        return _made(raw)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        if isinstance(error, UnreadablePunctuation):
            raise
        raise UnreadablePunctuation(f"a punctuation that cannot be read: {error!r}") from None


def _made(raw: Mapping[str, Any]) -> Punctuation:
    texts = {name: raw[name] for name in _TEXTS}
    numbers = {name: raw[name] for name in _NUMBERS} | {name: raw.get(name, 0) for name in ("rows", "late")}
    complete = raw.get("complete")
    told = {**numbers} if complete is None else {**numbers, "complete": complete}
    if wrong := [name for name, value in texts.items() if not isinstance(value, str)]:
        raise UnreadablePunctuation(f"a punctuation whose {wrong[0]} is no text")
    if wrong := [name for name, value in told.items() if type(value) is not int or not -(2**63) <= value < 2**63]:
        raise UnreadablePunctuation(f"a punctuation whose {wrong[0]} is no whole number")
    if numbers["partitions"] < 1:
        raise UnreadablePunctuation("a punctuation without partitions")
    return Punctuation(
        **texts, incarnation=numbers["incarnation"], batch=numbers["batch"], partitions=numbers["partitions"],
        at=WallMs(numbers["at"]), complete=None if complete is None else EventMs(complete), rows=numbers["rows"],
        late=numbers["late"], flow=_flow(raw.get("flow") or {}),
    )  # fmt: skip


def _flow(raw: Mapping[str, Any]) -> UpstreamFlow:
    grids = tuple(Grid(int(g["period_ms"]), int(g["offset_ms"])) for g in raw.get("grids") or ())
    return UpstreamFlow(_delay(raw.get("lag")), grids, _delay(raw.get("delay")))


def _delay(raw: Mapping[str, Any] | None) -> DelayView | None:
    return None if raw is None else DelayView(int(raw["epochs"]), *(float(raw[n]) for n in DelayView.__slots__[1:]))
