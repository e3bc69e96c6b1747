"""Playing scripts: one, or thousands over all cores, and making the smallest of one that breaks a law."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from headway_lab.experiments.scripts.virtual import making
from headway_lab.experiments.scripts.virtual.laws import Violation, broken
from headway_lab.experiments.scripts.virtual.script import Action, Script, ScriptInput, ScriptQuery, kind_of
from headway_lab.experiments.scripts.virtual.trace import ScriptTrace
from headway_lab.experiments.scripts.virtual.world import Maker, ScriptWorld, real_controller
from headway_lab.harness import law_sweep
from headway_lab.harness.law_sweep import LawTally, chunks
from headway_lab.harness.sweep import swept


@dataclass
class SweepTally(LawTally):
    """What some scripts were made of, and what came of it."""

    rows: int = 0
    refused: int = 0  # rows, for at least one window

    def add(self, number: int, trace: ScriptTrace, violations: list[Violation]) -> None:
        for history in trace.queries.values():
            self.rows += sum(map(len, history.rows.values()))
            self.batches += len(history.batches)
            self.refused += len({key for look in history.batches if look.ran for _, key in look.ran.refused})
        self.count(number, map(kind_of, trace.script.actions), violations)


def judged(script: Script, make: Maker = real_controller) -> tuple[ScriptTrace, list[Violation]]:
    """Play a script and hold the laws against it."""
    trace = ScriptWorld(script, make).play()
    return trace, broken(trace)


def sweep(seed: int, numbers: range, jobs: int, make: Maker = real_controller) -> Iterator[SweepTally]:
    """Many scripts of a seed, some at a time."""
    for _, tally in swept(_play_chunk, [(seed, some, make) for some in chunks(numbers)], jobs):
        yield tally


def _play_chunk(task: tuple[int, range, Maker]) -> SweepTally:
    seed, numbers, make = task
    tally = SweepTally()
    for number in numbers:
        tally.add(number, *judged(making.script(seed, number), make))
    return tally


def smallest(script: Script, law: str, make: Maker = real_controller, tries: int = 600) -> Script:
    """A script that still breaks this law, with nothing in it that need not be there."""
    return law_sweep.smallest(script, _smaller, lambda one: any(v.law == law for v in judged(one, make)[1]), tries)


def _smaller(script: Script) -> Iterator[Script]:
    """Everything that is one step plainer."""
    for name in [q.name for q in script.queries] if len(script.queries) > 1 else []:
        rest = tuple(q for q in script.queries if q.name != name)
        yield replace(script, queries=rest, actions=tuple(a for a in script.actions if a.get("query", "") != name))
    size = len(script.actions)
    for step in (max(1, size // 2), max(1, size // 4), 1):
        for first in range(0, size, step):
            yield replace(script, actions=script.actions[:first] + script.actions[first + step :])
    for n, action in enumerate(script.actions):
        for other in _plainer(action):
            yield replace(script, actions=(*script.actions[:n], other, *script.actions[n + 1 :]))
    if script.policy != "klink":
        yield replace(script, policy="klink")
    for n, query in enumerate(script.queries):
        for other_query in _plainer_query(query):
            yield replace(script, queries=(*script.queries[:n], other_query, *script.queries[n + 1 :]))
    last = max((int(a["until"] if "until" in a else a["at"]) for a in script.actions), default=0)
    for shorter in (last + 1_000, script.length_ms // 2):
        if shorter < script.length_ms:
            yield replace(script, length_ms=shorter)


def _plainer(action: Action) -> Iterator[Action]:
    if action["do"] == "stream":
        span = action["until"] - action["at"]
        if span > 1_000:
            yield action | {"until": action["at"] + span // 2}
            yield action | {"at": action["at"] + span // 2}
        if action["every"] < 1_000:
            yield action | {"every": 1_000}
        if action.get("delays") != [50]:
            yield action | {"delays": [50]}
        yield from ({k: v for k, v in action.items() if k != name} for name in ("speed", "released") if name in action)
    if action["do"] == "rows" and len(action["events"]) > 1:
        for n in range(len(action["events"])):
            yield action | {"events": action["events"][:n] + action["events"][n + 1 :]}
    if action.get("down", 0) > 300:
        yield action | {"down": 300}


def _plainer_query(query: ScriptQuery) -> Iterator[ScriptQuery]:
    if len(query.inputs) > 1:
        yield from (replace(query, inputs=(i,)) for i in query.inputs)
    yield from _usual(query, ScriptQuery(), ("name", "inputs"))
    for n, source in enumerate(query.inputs):
        for other in _usual(source, ScriptInput(), ("name",)):
            yield replace(query, inputs=(*query.inputs[:n], other, *query.inputs[n + 1 :]))


def _usual(one: Any, plain: Any, but: Iterable[str]) -> Iterator[Any]:
    """The same with one setting as it usually is."""
    for name, value in asdict(plain).items():
        if name not in but and getattr(one, name) != value:
            yield replace(one, **{name: value})
