"""The wide area, out of the journal of its controller: sites, links, the plan that runs, and what was decided about it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from headway.dashboard.area_map import positions
from headway.dashboard.area_words import area_words
from headway.dashboard.book import told_of
from headway.dashboard.reading import JournalFile
from headway.dashboard.words import readable
from headway.loop.questions.adaptation import ADAPTATION
from headway.model.adaptation import AdaptationMemory, AreaView, Keep, Replan
from headway.model.area import LOCAL
from headway.model.geo import Deployment, GeoPlan
from headway.policy.adaptation.streams import Streams, streams_of

MOST_PIPELINES, MOST_DECISIONS, MOST_SITES, MOST_LINKS, MOST_STAGES = 50, 60, 200, 300, 100


def area_page(file: JournalFile, pipeline: str | None = None, before: int | None = None) -> dict[str, Any]:
    """One pipeline as it was seen last, or as it was by line `before`; the one that was asked about last unless told."""
    names = [name for (name,) in file.all(
        f"select scope from entries where question = ? group by scope order by max(id) desc limit {MOST_PIPELINES}",
        (ADAPTATION,),
    )]  # fmt: skip
    name = pipeline or next(iter(names), None)
    empty = {"pipelines": sorted(names), "pipeline": name, "line": None, "at": None, "decided": None, "sites": [],
             "links": [], "stages": [], "decisions": [], "was": None, "changing": False, "usd_h": None,
             "network_ms": None}  # fmt: skip
    if name is None:
        return empty
    upto = 1 << 62 if before is None else before
    rows = file.all(
        "select id, at, seen, decided, receipt, policy, memory from entries where question = ? and scope = ? and id <= ?"
        f" order by id desc limit {MOST_DECISIONS}",
        (ADAPTATION, name, upto),
    )
    entries = [_Asked(*row) for row in rows]
    decisions = list(_decisions(entries, _verdict(file, name, upto)))
    shown = next((entry for entry in entries if isinstance(entry.seen, AreaView)), None)
    if shown is None:
        return empty | {"decisions": decisions}
    return empty | {"line": shown.line, "at": shown.at, "decisions": decisions} | _drawn(shown)


class _Asked:
    """One line of the journal, read."""

    def __init__(self, line: int, at: int, seen: str, decided: str, receipt: str, policy: str, memory: str) -> None:
        self.line, self.at, self.receipt, self.policy = line, at, receipt, policy
        self.seen, self.decided, self.memory = told_of(seen or "null"), told_of(decided), told_of(memory or "null")


def _drawn(shown: _Asked) -> dict[str, Any]:
    """The area as the decision makes it; and as it was, where that is something else."""
    seen, decided = shown.seen, shown.decided
    plan: GeoPlan = decided.plan if isinstance(decided, Replan) else seen.plan
    deployed: Deployment = (None if decided is None else decided.deployed) or seen.deployed
    changes = plan != seen.plan or deployed != seen.deployed
    return {
        "decided": area_words(decided) if decided is not None else "",
        "changing": seen.changing, "degrading": seen.degrading,
        "changed": _changed(seen, plan, deployed), "was": _running(seen, seen.plan, seen.deployed) if changes else None,
    } | _running(seen, plan, deployed)  # fmt: skip


def _running(seen: AreaView, plan: GeoPlan, deployed: Deployment) -> dict[str, Any]:
    streams = streams_of(seen)
    streams = streams if plan == seen.plan else streams.of(plan)
    return {
        "plan": plan.name, "sites": _sites(seen, plan, deployed), "links": list(_links(streams, deployed)),
        "stages": list(_stages(seen, plan, deployed)), "usd_h": _finite(streams.usd_h(deployed)),
        "network_ms": _finite(streams.path_ms(deployed)),
    }  # fmt: skip


def _sites(seen: AreaView, plan: GeoPlan, deployed: Deployment) -> list[dict[str, Any]]:
    places, table = positions(seen.area.links.latency_ms), deployed.table
    made = []
    for n, site in enumerate(seen.area.sites[:MOST_SITES]):
        here = [(stage, int(count)) for stage, count in zip(plan.stages, table[:, n], strict=True) if count]
        made.append(
            {
                "name": site.name, "x": places[n][0], "y": places[n][1], "slots": site.slots,
                "taken": sum(count for stage, count in here if stage.kind != "source"),
                "sources": [stage.name for stage, _ in here if stage.kind == "source"],
                "stages": [{"stage": stage.name, "tasks": count} for stage, count in here if stage.kind != "source"],
            }
        )  # fmt: skip
    return made


def _links(streams: Streams, deployed: Deployment) -> Iterator[dict[str, Any]]:
    """Those that this deployment needs, the fullest first."""
    links, names = streams.area.links, streams.area.names
    use, fill = streams.use(deployed), streams.fill(deployed)
    pairs = [(int(a), int(b)) for a, b in np.argwhere(use > 0)]
    for a, b in sorted(pairs, key=lambda pair: (-fill[pair], pair))[:MOST_LINKS]:
        bandwidth = float(links.bandwidth[a, b])
        yield {
            "source": names[a], "target": names[b], "bytes_per_s": float(use[a, b]),
            "bandwidth": None if bandwidth >= LOCAL else bandwidth, "fill": _finite(fill[a, b]),
            "latency_ms": float(links.latency_ms[a, b]), "usd_per_gb": float(links.usd_per_gb[a, b]),
            "age_ms": _finite(links.age_ms[a, b]),
        }  # fmt: skip


def _stages(seen: AreaView, plan: GeoPlan, deployed: Deployment) -> Iterator[dict[str, Any]]:
    rates, names = {one.stage: one for one in seen.rates}, seen.area.names
    for stage, row in list(zip(plan.stages, deployed.tasks, strict=True))[:MOST_STAGES]:
        one = rates.get(stage.name)
        yield {
            "name": stage.name, "kind": stage.kind, "inputs": list(stage.inputs), "free": stage.free,
            "sites": [{"site": names[n], "tasks": count} for n, count in enumerate(row) if count],
            "state_mb": stage.state_mb,
            "arrived": None if one is None else one.arrived, "processed": None if one is None else one.processed,
            "emitted": None if one is None else one.emitted, "waiting": None if one is None else one.waiting,
            "strained_ms": 0 if one is None else one.strained_ms,
        }  # fmt: skip


def _changed(seen: AreaView, plan: GeoPlan, deployed: Deployment) -> list[str]:
    """Stages that this decision puts elsewhere."""
    were = dict(zip(seen.plan.names, seen.deployed.tasks, strict=True))
    return [stage.name for stage, row in zip(plan.stages, deployed.tasks, strict=True) if were.get(stage.name) != row]


def _verdict(file: JournalFile, name: str, upto: int) -> str:
    """How the last change by line `upto` was judged after it: what is known when nothing is awaited any more."""
    later = file.all(
        "select memory, kind from entries where question = ? and scope = ? and id > ? order by id limit 20",
        (ADAPTATION, name, upto),
    )
    for memory, kind in later:
        knew = told_of(memory or "null")
        if isinstance(knew, AdaptationMemory) and knew.awaited is None:
            return knew.says
        if kind != "keep":
            break
    return ""


def _decisions(entries: list[_Asked], judged: str) -> Iterator[dict[str, Any]]:
    """The newest first, each with how it was judged afterwards; `judged`: the newest change."""
    after: Any = None
    for entry in entries:
        if entry.decided is None:
            continue
        if isinstance(after, AdaptationMemory):  # what was remembered when it was asked the next time
            judged = after.says if after.awaited is None else judged
        after = entry.memory
        keeps, expect = isinstance(entry.decided, Keep), entry.decided.expect
        words = area_words(entry.decided)
        yield {
            "line": entry.line, "at": entry.at, "kind": "keep" if keeps else words.split()[0].rstrip(":"),
            "words": words, "because": readable(entry.decided.because), "receipt": entry.receipt,
            "policy": entry.policy, "effect": "" if keeps else judged,
            "moves": [
                {"stage": m.stage, "source": m.source, "target": m.target, "megabytes": m.megabytes, "seconds": m.seconds}
                for m in entry.decided.moves
            ],
            "expected": None if expect is None else {
                "stage": expect.stage, "at_least": expect.at_least, "takes_s": expect.takes_s, "usd_h": expect.usd_h,
                "network_ms": expect.network_ms, "by": expect.by, "gap": _finite(expect.gap),
            },
        }  # fmt: skip
        if not keeps:
            judged = ""


def _finite(value: float | None) -> float | None:
    """JSON has no infinity."""
    return None if value is None or not np.isfinite(value) else float(value)
