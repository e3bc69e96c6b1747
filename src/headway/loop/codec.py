"""Views and decisions as JSON text and back, so that a journal can be replayed."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from headway.estimate.due import worked_out
from headway.estimate.tail import Tail
from headway.model.adaptation import (
    AdaptationMemory,
    AreaView,
    Awaited,
    Degrade,
    ExpectedEffect,
    Keep,
    PastChange,
    Reassign,
    Replan,
    ScaleDown,
    ScaleOut,
    ScaleUp,
    StageRates,
    StateMove,
)
from headway.model.area import Area, Links, Site
from headway.model.deadline import Deadlines, Grid
from headway.model.decision import Decision, Grant, Hold
from headway.model.geo import Deployment, GeoPlan, Stage
from headway.model.graph import Edge, Graph
from headway.model.patience import PatienceView, Wait
from headway.model.placement import (
    Computations,
    ExpectedRelief,
    FleetView,
    HostView,
    Move,
    MoveRequest,
    Newcomer,
    NodeView,
    PlacementMemory,
    Placements,
    Refuse,
    RequestMemory,
    RequestMove,
    Start,
    Stay,
)
from headway.model.ring import Ring, Rings, RingShape
from headway.model.sampling import GroupView, Sampling, StreamView
from headway.model.slack import Curve, Report, SlackSeen, SLTs
from headway.model.time import WallMs
from headway.model.view import DelayView, InputView, MemoryView, QueryView, Snapshot, UpstreamView

# What questions other than order are about, and how they are answered. A question elsewhere adds its own.
_INPUTS = (PatienceView, Wait, Tail, StreamView, GroupView, Sampling, SlackSeen, SLTs, Graph, Edge, Report, Curve)
_FLEET = (
    Computations, ExpectedRelief, FleetView, HostView, Move, MoveRequest, Newcomer, NodeView, PlacementMemory, Placements,
    Refuse, RequestMemory, RequestMove, Ring, RingShape, Rings, Start, Stay,
)  # fmt: skip
_AREA = (
    AdaptationMemory, Area, AreaView, Awaited, Degrade, Deployment, ExpectedEffect, GeoPlan, Keep, Links, PastChange,
    Reassign, Replan, ScaleDown, ScaleOut, ScaleUp, Site, Stage, StageRates, StateMove,
)  # fmt: skip
KINDS: dict[str, type] = {kind.__name__: kind for kind in (*_INPUTS, *_FLEET, *_AREA)}
_KIND, _ARRAY, _PAIRS = "!", "!array", "!pairs"


def dumps(value: Any) -> str:
    """For the question of order: its columns say which kind of value a text is."""
    return json.dumps(_plain(value), separators=(",", ":"))


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.init}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value


def query_view(text: str) -> QueryView:
    raw = json.loads(text)
    inputs = tuple(_input_view(i) for i in raw.pop("inputs"))
    grids = tuple(Grid(**g) for g in raw.pop("deadlines")["grids"])
    return worked_out(QueryView(inputs=inputs, deadlines=Deadlines(grids), **raw))


def _input_view(raw: dict[str, Any]) -> InputView:
    """Journals of earlier versions say nothing of what is new here."""
    delay, upstream = raw["delay"], raw.get("upstream")
    values = {"delay": delay and DelayView(**delay), "upstream": upstream and UpstreamView(**upstream)}
    return InputView(**(raw | values))


def decision(text: str) -> Decision:
    raw = json.loads(text)
    return Grant(**raw) if "query" in raw else Hold(**raw)


def snapshot(at: int, slots: int, memory: str, views: list[str]) -> Snapshot:
    return Snapshot(WallMs(at), tuple(query_view(v) for v in views), slots, MemoryView(**json.loads(memory)))


def tell(value: Any) -> str:
    """Anything made of the kinds above, numbers, texts, tuples, mappings and arrays, with the name of each kind."""
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
        size = len(value) if value.ndim == 1 else list(value.shape)
        return {_ARRAY: size, "at": held.tolist(), "is": value.ravel()[held].tolist()}
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
        made.ravel()[raw["at"]] = raw["is"]  # a view: a new array has its numbers in a row
        return made
    return KINDS[raw.pop(_KIND)](**{name: _untold(value) for name, value in raw.items()})
