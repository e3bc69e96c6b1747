"""A script: queries with their settings, and what happens to them when. Plain data: a bad day can be kept and replayed.

Times are milliseconds after the script's midnight (`BASE`). What may happen, each with `at`:

    rows        events=[...] of `input` come in at `at`; None is a row without a time
    stream      a row every `every` ms from `at` to `until`, `delays` in turn after its event time; with `released`, none of
                them comes in before that moment (they were held up together); `skew_ms` is added to event times, and with
                `speed` they pass faster than time does
    restart     the query is stopped, in the middle of its batch if need be, and started `down` ms later with new `settings`
    crash       the query's next batch dies `when` = before-log, after-log or after-sink; restarted `down` ms later
    driver      everything dies at once, and is started again `down` ms later
    controller  the controller alone dies, and is built anew `down` ms later
    hang-up     the query's line to the gate is cut, for `down` ms
    report      what the query's next batch reports is lost, told twice or told `by` ms late: `how` = drop, repeat or delay
    step        the wall clock is set `by` ms; the monotonic clock goes on
    policy      another order policy, by `name`
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from headway.errors import SettingError
from headway.model.deadline import Deadlines, window
from headway.model.message import InputSpec, QuerySpec
from headway_lab.experiments.scripts.virtual.engine import Mode, WindowShape

BASE = 1_699_920_000_000  # a midnight: windows of any length that divides a day begin with it
DAY_MS = 86_400_000
FRESH_MS = 333  # how soon rows are wanted in the output where nothing waits for a window's end
KINDS = ("rows", "stream", "restart", "crash", "driver", "controller", "hang-up", "report", "step", "policy")
Action = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ScriptInput:
    """One watermarked input."""

    name: str = "a"
    patience_ms: int = 500
    idle_after_ms: int | None = 10_000  # None: never
    horizon_ms: int | None = DAY_MS  # None: never
    limit: int | None = None  # rows that the source hands out per batch, at most
    whole: bool = True  # it is known that the source hands out all it has
    skew_ms: int = 0  # how far the sender's clock is ahead of ours; for the fresh rows at the script's end

    @property
    def limited(self) -> bool:
        return self.limit is not None or not self.whole


@dataclass(frozen=True, slots=True)
class ScriptQuery:
    """One query, and what its batches cost."""

    name: str = "q"
    inputs: tuple[ScriptInput, ...] = (ScriptInput(),)
    window_ms: int = 3_000
    slide_ms: int | None = None
    mode: Mode = "append"
    trigger_ms: int = 0
    bounded: bool = False  # availableNow
    before_gate: bool = False  # its sources are asked before the gate
    fixed_ms: int = 100
    per_row_ms: int = 1
    starts_ms: int = 0

    @property
    def windows(self) -> WindowShape:
        return WindowShape(self.window_ms, self.slide_ms or self.window_ms)

    @property
    def spec(self) -> QuerySpec:
        limited = any(i.limited for i in self.inputs)
        inputs = tuple(InputSpec(i.name, i.patience_ms, i.idle_after_ms, limited=limited) for i in self.inputs)
        return QuerySpec(
            self.name, inputs, Deadlines((window(self.window_ms, self.slide_ms),)),
            ahead=not (limited or self.before_gate),
            window_ms=self.window_ms, trigger_ms=self.trigger_ms, bounded=self.bounded,
            fresh_ms=FRESH_MS if self.mode == "update" else None,
        )  # fmt: skip

    def changed(self, settings: dict[str, Any]) -> "ScriptQuery":
        """The same query with other settings; those of inputs hold for all of them."""
        of_inputs = {k: v for k, v in settings.items() if k in {f.name for f in fields(ScriptInput)}}
        own = {k: v for k, v in settings.items() if k not in of_inputs}
        return replace(self, inputs=tuple(replace(i, **of_inputs) for i in self.inputs), **own)


@dataclass(frozen=True, slots=True)
class Script:
    """What is played."""

    queries: tuple[ScriptQuery, ...] = (ScriptQuery(),)
    actions: tuple[Action, ...] = ()
    length_ms: int = 60_000
    slots: int = 1
    policy: str = "klink"
    seed: str = field(default="", compare=False)

    def as_json(self) -> str:
        """Readable: one action per line, and of the settings only those that differ from the usual."""
        told = {
            "policy": self.policy, "slots": self.slots, "length_ms": self.length_ms, "seed": self.seed,
            "queries": [_unusual(q) for q in self.queries],
        }  # fmt: skip
        head = json.dumps(told)[:-1]
        return head + ', "actions": [\n' + ",\n".join(json.dumps(a) for a in self.actions) + "\n]}\n"


def from_json(text: str) -> Script:
    """Read a script back; one line says what is wrong with it."""
    try:
        told = json.loads(text)
        queries = tuple(
            ScriptQuery(**{**q, "inputs": tuple(ScriptInput(**i) for i in q.get("inputs", [{}]))})
            for q in told.pop("queries", [{}])
        )
        script = Script(queries, tuple(told.pop("actions", ())), **told)
    except (ValueError, TypeError, AttributeError) as error:
        raise SettingError("script", text[:40], f"a script as `headway sim scripts` writes it, but {error}") from None
    for action in script.actions:
        if action.get("do") not in KINDS:
            raise SettingError("script.do", action.get("do"), f"one of {', '.join(KINDS)}")
    return script


def _unusual(query: ScriptQuery) -> dict[str, Any]:
    inputs = [_differs(asdict(i), asdict(ScriptInput())) for i in query.inputs]
    rest = _differs({k: v for k, v in asdict(query).items() if k != "inputs"}, asdict(ScriptQuery()))
    return rest | ({"inputs": inputs} if inputs != [{}] else {})


def _differs(these: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in these.items() if value != usual[name]}


def moment(at: int) -> str:
    """A moment in words: milliseconds after the script's midnight."""
    return f"{at - BASE:,}" if abs(at - BASE) < 10**13 else "never"


def kind_of(action: Action) -> str:
    """What is said of it in tables: streams and rows come in several kinds."""
    return str(action.get("kind", action["do"]))


def arrivals(action: Action) -> Iterator[tuple[int, int | None]]:
    """When each row of an action comes in, and its event time; both after BASE."""
    if action["do"] == "rows":
        for event in action["events"]:
            yield action["at"], event
    elif action["do"] == "stream":
        first, speed, delays = action["at"], action.get("speed", 1), action.get("delays", [50])
        for n, moment in enumerate(range(first, action["until"], max(1, action["every"]))):
            event = first + (moment - first) * speed + action.get("skew_ms", 0)
            yield max(moment + delays[n % len(delays)], action.get("released", 0)), event
