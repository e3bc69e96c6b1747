"""Holds what a run emitted against the published rules: what is missing, what came twice, what is wrong.

Rows are those of the queries, made flat by `flat`. A run that was cut short is judged by the windows that it closed:
`until_ms` says from when on nothing is missed yet. What it emitted beyond must be right all the same.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf, isclose
from typing import Any, Literal

from headway_lab.workloads.feed import Feed
from headway_lab.workloads.linear_road import accidents as collisions
from headway_lab.workloads.linear_road import accounts, rules
from headway_lab.workloads.linear_road.reports import MINUTE_MS, columns

Row = Mapping[str, Any]
AnswerKey = tuple[Any, ...]
Output = Literal["statistics", "accidents", "prices", "tolls", "charges"]

# How the rows of a query are told apart, and what they say: SQL for both.
KEYS: dict[Output, tuple[str, ...]] = {
    "statistics": ("unix_millis(minute.start) as start_ms", "xway", "dir", "seg"),
    "accidents": ("unix_millis(half.start) as start_ms", "xway", "dir", "lane", "seg", "pos"),
    "prices": ("unix_millis(minute.end) as start_ms", "xway", "dir", "seg"),
    "tolls": ("at_ms", "vid"),
    "charges": ("at_ms", "vid"),
}
SAYS: dict[Output, tuple[str, ...]] = {
    "statistics": ("speed", "cars"),
    "accidents": ("since_ms", "fresh", "vids"),
    "prices": ("lav", "cars", "accident", "toll"),
    "tolls": ("xway", "dir", "seg", "lav", "cars", "accident", "toll"),
    "charges": ("xway", "dir", "seg", "toll"),
}


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that is not as it should be. `got` lists what came, once for each time."""

    kind: Literal["missing", "twice", "wrong", "unexpected"]
    key: AnswerKey  # the time first
    got: tuple[AnswerKey, ...]
    want: AnswerKey | None


def flat(output: Output, frame: Any) -> Any:
    """The rows of a query as plain numbers, ready to be compared."""
    return frame.selectExpr(*KEYS[output], *SAYS[output])


def differences(
    output: Output, rows: Iterable[Row], feed: Feed, minute_ms: int = MINUTE_MS, until_ms: float = inf
) -> list[Difference]:
    """How the rows of a run on `feed` differ from what the rules say, in the order of time.

    Rows of statistics, accidents and prices are missed if the time that they sum up ends by `until_ms`; those of
    tolls and charges if their report came before.
    """
    keys = [name.split()[-1] for name in KEYS[output]]
    got: dict[AnswerKey, list[AnswerKey]] = {}
    for row in rows:
        says = (tuple(row[name]) if name == "vids" else row[name] for name in SAYS[output])
        got.setdefault(tuple(row[name] for name in keys), []).append(tuple(says))
    want = TRUTHS[output](feed, minute_ms)
    length = {"statistics": minute_ms, "accidents": 5 * minute_ms // 2, "tolls": 1, "charges": 1}.get(output, 0)
    found = []
    for key in sorted(got.keys() | want.keys()):
        seen, true = got.get(key, []), want.get(key)
        if not seen and key[0] + length <= until_ms:
            found.append(Difference("missing", key, (), true))
        elif seen and true is None:
            found.append(Difference("unexpected", key, tuple(seen), None))
        elif any(not _same(one, true or ()) for one in seen):
            found.append(Difference("wrong", key, tuple(seen), true))
        elif len(seen) > 1:
            found.append(Difference("twice", key, tuple(seen), true))
    return found


def count(found: Iterable[Difference]) -> Counter[str]:
    """How many differences there are of each kind."""
    return Counter(difference.kind for difference in found)


def _same(one: AnswerKey, other: AnswerKey) -> bool:
    """Equal, but for the last digits of averages, which depend on the order in which numbers were added."""
    return len(one) == len(other) and all(
        isclose(a, b, rel_tol=1e-9) if isinstance(a, float) and isinstance(b, float) else a == b
        for a, b in zip(one, other, strict=True)
    )


def _statistics(feed: Feed, minute_ms: int) -> dict[AnswerKey, AnswerKey]:
    known = rules.statistics(columns(feed), minute_ms)
    return {key: (statistic.speed, statistic.cars) for key, statistic in known.items()}


def _accidents(feed: Feed, minute_ms: int) -> dict[AnswerKey, AnswerKey]:
    # The query looks at five half minutes and tells of the last.
    known = collisions.halves(columns(feed), minute_ms)
    return {(start - 4 * (minute_ms // 2), *place): tuple(half) for (start, place), half in known.items()}


def _prices(feed: Feed, minute_ms: int) -> dict[AnswerKey, AnswerKey]:
    return {key: _price(price) for key, price in rules.prices(columns(feed), minute_ms).items()}


def _tolls(feed: Feed, minute_ms: int) -> dict[AnswerKey, AnswerKey]:
    told = accounts.notices(columns(feed), minute_ms)
    return {(at, vid): (n.xway, n.dir, n.seg, *_price(n.price)) for (vid, at), n in told.items()}


def _charges(feed: Feed, minute_ms: int) -> dict[AnswerKey, AnswerKey]:
    paid = accounts.charges(columns(feed), minute_ms)
    return {(at, vid): (c.xway, c.dir, c.seg, c.toll) for (vid, at), c in paid.items()}


def _price(price: rules.Price) -> AnswerKey:
    return price.lav, price.cars, price.accident, price.toll


TRUTHS: dict[Output, Callable[[Feed, int], dict[AnswerKey, AnswerKey]]] = {
    "statistics": _statistics,
    "accidents": _accidents,
    "prices": _prices,
    "tolls": _tolls,
    "charges": _charges,
}
