"""Views and decisions as JSON text and back, so that a journal can be replayed."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from headway.estimate.due import worked_out
from headway.estimate.tail import Tail
from headway.model.deadline import Deadlines, Grid
from headway.model.decision import Decision, Grant, Hold
from headway.model.graph import Edge, Graph
from headway.model.patience import PatienceView, Wait
from headway.model.sampling import GroupView, Sampling, StreamView
from headway.model.slack import Curve, Report, SlackSeen, SLTs
from headway.model.time import WallMs
from headway.model.view import DelayView, InputView, MemoryView, QueryView, Snapshot

# What questions other than order are about, and how they are answered. A question elsewhere adds its own.
KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (PatienceView, Wait, Tail, StreamView, GroupView, Sampling, SlackSeen, SLTs, Graph, Edge, Report, Curve)
}
_KIND, _ARRAY, _PAIRS = "!", "!array", "!pairs"


def dumps(value: Any) -> str:
    """Of order: what a text is of is known from where it stands."""
    return json.dumps(_plain(value), separators=(",", ":"))


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.init}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value


def query_view(text: str) -> QueryView:
    raw = json.loads(text)
    inputs = tuple(InputView(**{**i, "delay": i["delay"] and DelayView(**i["delay"])}) for i in raw.pop("inputs"))
    grids = tuple(Grid(**g) for g in raw.pop("deadlines")["grids"])
    return worked_out(QueryView(inputs=inputs, deadlines=Deadlines(grids), **raw))


def decision(text: str) -> Decision:
    raw = json.loads(text)
    return Grant(**raw) if "query" in raw else Hold(**raw)


def snapshot(at: int, slots: int, memory: str, views: list[str]) -> Snapshot:
    return Snapshot(WallMs(at), tuple(query_view(v) for v in views), slots, MemoryView(**json.loads(memory)))


def tell(value: Any) -> str:
    """Anything made of the kinds above, numbers, texts, tuples, mappings and arrays."""
    return json.dumps(_told(value), separators=(",", ":"))


def told(text: str) -> Any:
    return _untold(json.loads(text))


def _told(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        if KINDS.get(kind := type(value).__name__) is not type(value):
            raise TypeError(f"{kind} is not among the kinds that a journal knows")
        return {_KIND: kind} | {f.name: _told(getattr(value, f.name)) for f in fields(value) if f.init}
    if isinstance(value, np.ndarray):
        held = np.flatnonzero(value)  # most of a histogram is empty
        return {_ARRAY: len(value), "at": held.tolist(), "is": value[held].tolist()}
    if isinstance(value, Mapping):
        return {_PAIRS: [[_told(k), _told(v)] for k, v in value.items()]}
    if isinstance(value, tuple | list):
        return [_told(v) for v in value]
    return value


def _untold(raw: Any) -> Any:
    if isinstance(raw, list):
        return tuple(_untold(v) for v in raw)
    if not isinstance(raw, dict):
        return raw
    if _PAIRS in raw:
        return {_untold(k): _untold(v) for k, v in raw[_PAIRS]}
    if _ARRAY in raw:
        made = np.zeros(raw[_ARRAY])
        made[raw["at"]] = raw["is"]
        return made
    return KINDS[raw.pop(_KIND)](**{name: _untold(value) for name, value in raw.items()})
