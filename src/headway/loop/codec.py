"""Views and decisions as JSON text and back, so that a journal can be replayed."""

import json
from dataclasses import fields, is_dataclass
from typing import Any

from headway.loop.controller import Entry
from headway.model.deadline import Deadlines, Grid
from headway.model.decision import Decision, Grant, Hold
from headway.model.time import WallMs
from headway.model.view import DelayView, InputView, MemoryView, QueryView, Snapshot


def dumps(value: Any) -> str:
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
    return QueryView(inputs=inputs, deadlines=Deadlines(grids), **raw)


def decision(text: str) -> Decision:
    raw = json.loads(text)
    return Grant(**raw) if "query" in raw else Hold(**raw)


def entry(at: int, decided: str, proposed: str, receipt: str, slots: int, memory: str, views: list[str]) -> Entry:
    snapshot = Snapshot(WallMs(at), tuple(query_view(v) for v in views), slots, MemoryView(**json.loads(memory)))
    return Entry(WallMs(at), snapshot, decision(proposed), decision(decided), receipt)
