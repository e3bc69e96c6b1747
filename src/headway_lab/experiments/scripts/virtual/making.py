"""Scripts at random: bad days as users have had them, and worse. The same seed gives the same script."""

from dataclasses import replace
from random import Random
from typing import Any

from headway_lab.experiments.scripts.virtual.script import DAY_MS, Action, Script, ScriptInput, ScriptQuery

HOUR_MS = 3_600_000
YEAR_9999_MS = 251_882_697_600_000  # after BASE
WINDOWS = (
    (3_000, None),
    (1_000, None),
    (2_000, None),
    (5_000, 1_000),
    (4_000, 2_000),
    (10_000, None),
    (60_000, None),
    (700, None),
)
PATIENCES = (500, 0, 100, 1_000, 3_000, 500, 200, 15_000)
OTHERS = ("first-come", "round-robin", "highest-rate", "streambox", "response-ratio")


def script(seed: int, number: int) -> Script:
    """Script `number` of a seed."""
    dice = Random(f"{seed}/{number}")
    length = dice.choice((15_000, 25_000, 40_000, 60_000, 90_000))
    queries = tuple(_query(dice, f"q{n}") for n in range(dice.choice((1, 1, 1, 1, 2, 2, 3, 4))))
    actions = [a for q in queries for i in q.inputs for a in _rows(dice, q, i, length)]
    for _ in range(dice.choice((0, 0, 1, 1, 2, 3, 4))):
        actions.append(_trouble(dice, queries, length))
    policy = "klink" if dice.random() < 0.8 else dice.choice(OTHERS)
    return Script(
        queries,
        tuple(sorted(actions, key=lambda a: int(a["at"]))),
        length,
        dice.choice((1, 1, 2)),
        policy,
        f"{seed}/{number}",
    )


def _query(dice: Random, name: str) -> ScriptQuery:
    window, slide = dice.choice(WINDOWS)
    inputs = tuple(_input(dice, label) for label in ("ab" if dice.random() < 0.3 else "a"))
    if dice.random() < 0.15:  # as stock Spark, to the letter
        inputs = tuple(replace(i, idle_after_ms=None, horizon_ms=None) for i in inputs)
    bounded = dice.random() < 0.08
    return ScriptQuery(
        name, inputs, window, slide,
        mode="update" if dice.random() < 0.15 else "append",
        trigger_ms=0 if bounded or dice.random() < 0.85 else dice.choice((1_000, 5_000, 30_000)),
        bounded=bounded,
        before_gate=dice.random() < 0.05,
        fixed_ms=dice.choice((20, 100, 100, 300, 1_000)),
        per_row_ms=dice.choice((0, 1, 5)),
        starts_ms=dice.choice((0, 0, 0, 700, 5_000)),
    )  # fmt: skip


def _input(dice: Random, name: str) -> ScriptInput:
    limit = dice.choice((1, 3, 10, 40)) if dice.random() < 0.12 else None
    return ScriptInput(
        name,
        dice.choice(PATIENCES),
        dice.choice((10_000, 10_000, 5_000, 2_000, 20_000, None)),
        dice.choice((DAY_MS, DAY_MS, HOUR_MS, None)),
        limit,
        whole=limit is None and dice.random() < 0.95,
        skew_ms=dice.choice((2 * HOUR_MS, 20 * HOUR_MS, -3 * HOUR_MS)) if dice.random() < 0.06 else 0,
    )


def _rows(dice: Random, query: ScriptQuery, source: ScriptInput, length: int) -> list[Action]:
    """The life of one input: stretches of rows, one after the other."""
    to: dict[str, Any] = {"query": query.name, "input": source.name}
    found: list[Action] = []
    at = dice.choice((0, 0, 0, 3_000, 15_000))
    while at < length:
        until = min(length, at + dice.choice((2_000, 5_000, 10_000, 20_000, 40_000)))
        found += _stretch(dice, to, source, query, at, until)
        at = until
    for _ in range(dice.choice((0, 0, 1, 2, 4))):
        found.append(_odd_rows(dice, to, query, source, length))
    return found


def _stretch(dice: Random, to: dict[str, Any], source: ScriptInput, query: ScriptQuery, at: int, until: int) -> list[Action]:
    every = dice.choice((200, 500, 500, 1_000, 2_500))
    delays = dice.choice(([50], [50, 200], [0], [20, 400, 90], [source.patience_ms, 50], [1_500, 50]))
    stream = {"do": "stream", "at": at, "until": until, **to, "every": every, "delays": delays}
    stream |= {"skew_ms": source.skew_ms} if source.skew_ms else {}
    kind = dice.choice(("steady", "steady", "steady", "silence", "stall", "stall", "burst", "old", "late"))
    if kind == "silence":
        return []
    if kind == "stall":  # held up together
        return [stream | {"kind": kind, "released": until + dice.choice((-1_000, 0, 500, 3_000, 15_000))}]
    if kind == "old":  # a replay, faster than it once was
        speed = dice.choice((1, 10, 60))
        return [
            stream | {"kind": kind, "skew_ms": source.skew_ms - dice.choice((20_000, HOUR_MS, 30 * DAY_MS)), "speed": speed}
        ]
    if kind == "late":  # all of it is later than patience allows
        return [stream | {"kind": kind, "delays": [source.patience_ms + dice.choice((100, 2_000, 12_000))]}]
    if kind == "burst":
        return [stream | {"kind": kind, "every": 2_500}, stream | {"kind": kind, "until": at + 400, "every": 10}]
    return [stream | {"kind": kind}]


def _odd_rows(dice: Random, to: dict[str, Any], query: ScriptQuery, source: ScriptInput, length: int) -> Action:
    """A few rows that are easily forgotten: without a time, at window edges, from far away."""
    at = dice.randrange(0, length, 100)
    slide = query.slide_ms or query.window_ms
    edge = (at - source.patience_ms) // slide * slide  # a window's end that patience lets go about now
    kind = dice.choice(("edge", "edge", "timeless", "future", "future", "ahead", "late"))
    events: dict[str, list[int | None]] = {
        "edge": [edge, edge - 1, edge + 1, edge + slide],
        "timeless": [None, None],
        "future": [at + dice.choice((40 * DAY_MS, YEAR_9999_MS, DAY_MS + 1, 2 * HOUR_MS))],
        "ahead": [at + dice.choice((500, 5_000, 59_000, 61_000, 600_000))],
        "late": [at - dice.choice((1_000, 5_000, 30_000)), edge - 2 * slide],
    }
    return {"do": "rows", "at": at, **to, "kind": kind, "events": events[kind]}


def _trouble(dice: Random, queries: tuple[ScriptQuery, ...], length: int) -> Action:
    at, query = dice.randrange(500, length, 50), dice.choice(queries).name
    down = dice.choice((0, 300, 2_000, 8_000, 20_000))
    return dice.choice((
        {"do": "restart", "at": at, "query": query, "down": down, "settings": dice.choice(_SETTINGS)},
        {"do": "restart", "at": at, "query": query, "down": down, "settings": {}},
        {"do": "crash", "at": at, "query": query, "down": down, "when": dice.choice(_WHEN)},
        {"do": "crash", "at": at, "query": query, "down": down, "when": dice.choice(_WHEN)},
        {"do": "driver", "at": at, "down": down},
        {"do": "controller", "at": at, "down": dice.choice((100, 1_000, 3_000))},
        {"do": "hang-up", "at": at, "query": query, "down": dice.choice((100, 3_000, 12_000))},
        {"do": "report", "at": at, "query": query, "how": dice.choice(("drop", "repeat", "delay")), "by": 700},
        {"do": "step", "at": at, "by": dice.choice((HOUR_MS, -HOUR_MS, 2_000, -2_000))},
        {"do": "policy", "at": at, "name": dice.choice(("klink", *OTHERS))},
    ))  # fmt: skip


_WHEN = ("before-log", "after-log", "after-sink")
_SETTINGS: tuple[dict[str, Any], ...] = (
    {"limit": 3, "whole": False},
    {"limit": None, "whole": True},
    {"patience_ms": 3_000},
    {"patience_ms": 0},
    {"idle_after_ms": None},
    {"horizon_ms": None},
    {"bounded": True, "trigger_ms": 0},
)
