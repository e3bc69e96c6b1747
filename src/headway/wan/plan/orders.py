"""The logical plans of a query: with or without partial aggregation, and in which order parts are brought together.

All have the same results. Which is best depends on links and rates, and is found by placing them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeAlias

from headway.model.geo import GeoPlan, Stage
from headway.wan.plan.check import plan_of
from headway.wan.plan.query import FilterRows, GeoQuery, GeoSource, WindowAggregate, pushed

MOST_LEAVES = 4  # of which every tree is tried: 5 would have 105
GROUPS = (2, 3, 4)  # sizes of groups, where there are more

Tree: TypeAlias = "str | tuple[Tree, ...]"
Distance = Callable[[str, str], float]  # between two sites


def logical_plans(query: GeoQuery, distance: Distance | None = None) -> tuple[GeoPlan, ...]:
    """The plainest first: everything to one place. Filters are pushed to the sources in all of them."""
    query = pushed(query)
    if query.last is None:
        union = Stage("union", "stateless", tuple(s.name for s in query.sources), task_per_s=query.task_per_s)
        sized = replace(union, row_bytes=max(leaf.row_bytes for leaf in _leaves(query)))
        return (plan_of(query.name, [*_leaves(query), sized, _sink(query, [union.name])]),)
    found: list[GeoPlan] = []
    partials = (False, True) if isinstance(query.last, WindowAggregate) and query.last.partial else (False,)
    for partial in partials:
        for number, tree in enumerate(trees(query.sources, distance)):
            name = f"{query.name}-{'partial' if partial else 'plain'}-{number}"
            found.append(_plan(name, query, tree, partial))
    return tuple(found)


def trees(sources: Sequence[GeoSource], distance: Distance | None = None) -> list[Tree]:
    """Ways to bring sources together: all at once; of few every pairing, of many the near ones first."""
    names = [source.name for source in sources]
    if len(names) <= 2:
        return [tuple(names)]
    flat: list[Tree] = [tuple(names)]
    if len(names) <= MOST_LEAVES:
        return [*flat, *(tree for tree in _pairings(tuple(names)) if tree != flat[0])]
    sites = {source.name: source.site for source in sources}

    def apart(a: str, b: str) -> float:
        return distance(sites[a], sites[b]) if distance is not None else 0.0 if sites[a] == sites[b] else 1.0

    return list(dict.fromkeys([*flat, *(_grouped(names, size, apart) for size in GROUPS)]))


def _pairings(names: tuple[str, ...]) -> Iterator[Tree]:
    """Every tree of two branches at each knot, each once: the first name is always on the left."""
    if len(names) == 1:
        yield names[0]
        return
    first, rest = names[0], names[1:]
    for size in range(len(rest)):
        for beside in combinations(rest, size):
            left = (first, *beside)
            right = tuple(name for name in rest if name not in beside)
            for one in _pairings(left):
                for two in _pairings(right):
                    yield one, two


def _grouped(names: Sequence[str], size: int, apart: Distance) -> Tree:
    """Groups of so many that are near one another, then all groups."""
    left = list(names)
    groups: list[Tree] = []
    while left:
        first = left.pop(0)
        near = sorted(left, key=lambda other: (apart(first, other), other))[: size - 1]
        left = [name for name in left if name not in near]
        groups.append((first, *near) if near else first)
    return tuple(groups)


def _plan(name: str, query: GeoQuery, tree: Tree, partial: bool) -> GeoPlan:
    last = query.last
    assert last is not None
    stages = _leaves(query)
    tips = {source.name: source.name for source in query.sources}
    if partial:
        assert isinstance(last, WindowAggregate)
        for source in query.sources:
            stages.append(_partial(query, last, source))
            tips[source.name] = f"part-{source.name}"
    root = _knot(query, tree, tips, stages)
    stages.append(_sink(query, [root]))
    return plan_of(name, stages)


def _knot(query: GeoQuery, tree: Tree, tips: dict[str, str], stages: list[Stage]) -> str:
    """Stages of a tree, the branches before the knot; answers with the knot's name."""
    if isinstance(tree, str):
        return tips[tree]
    inputs = tuple(_knot(query, branch, tips, stages) for branch in tree)
    covered = sorted(_names(tree))
    whole = len(covered) == len(query.sources)
    last = query.last
    label = "all" if whole else "+".join(covered)
    part = len(covered) / len(query.sources)
    if isinstance(last, WindowAggregate):
        most = last.keys if last.out_per_window is None or not whole else last.out_per_window
        stages.append(
            Stage(
                f"combine-{label}", "combine", inputs, row_bytes=last.row_bytes, window_ms=last.window_ms,
                most_per_s=most * 1000 / last.window_ms, state_mb=last.state_mb * part, task_per_s=last.task_per_s,
            )
        )  # fmt: skip
        return stages[-1].name
    assert last is not None
    stages.append(
        Stage(
            f"join-{label}", "join", inputs, selectivity=last.selectivity, row_bytes=last.row_bytes,
            window_ms=last.window_ms, state_mb=last.state_mb * part, task_per_s=last.task_per_s,
        )
    )  # fmt: skip
    return stages[-1].name


def _names(tree: Tree) -> list[str]:
    return [tree] if isinstance(tree, str) else [name for branch in tree for name in _names(branch)]


def _leaves(query: GeoQuery) -> list[Stage]:
    """Sources with the steps that need no state, fused: what a source sends is what they leave of its rows."""
    out = []
    for source in query.sources:
        keep, size = 1.0, source.row_bytes
        for step in query.steps:
            if isinstance(step, FilterRows):
                keep *= step.keep
            else:
                size = step.row_bytes
        out.append(
            Stage(source.name, "source", site=source.site, selectivity=keep, row_bytes=size, progress=source.progress)
        )  # fmt: skip
    return out


def _partial(query: GeoQuery, last: WindowAggregate, source: GeoSource) -> Stage:
    return Stage(
        f"part-{source.name}", "partial", (source.name,), site=source.site, row_bytes=last.row_bytes,
        most_per_s=last.keys * 1000 / last.window_ms, window_ms=last.window_ms,
        state_mb=last.state_mb / len(query.sources), task_per_s=last.task_per_s, splittable=False,
    )  # fmt: skip


def _sink(query: GeoQuery, inputs: Sequence[str]) -> Stage:
    keep = 1.0
    for filtering in query.after:
        keep *= filtering.keep
    return Stage(
        "sink", "sink", tuple(inputs), site=query.sink_site, selectivity=keep, task_per_s=query.task_per_s, splittable=False
    )  # fmt: skip
