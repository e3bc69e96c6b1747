"""The rows themselves, few of them: whatever the plan, the placement, the order and the crashes, results are the same.

Each task reads the topics of its inputs, remembers how far, and takes a checkpoint now and then. After a crash it goes on
from there and says again what it has said since. What it says of a window has an identity (sender, site, window, key):
a stage that hears it again puts it where it was. A window is emitted when all inputs have come past its end.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random

from headway.model.geo import Deployment, GeoPlan, Stage


@dataclass(frozen=True, slots=True)
class WindowPart:
    """What one task says of one window and key; to say it twice changes nothing."""

    sender: str  # stage and task
    window: int
    key: str
    rows: int


@dataclass(frozen=True, slots=True)
class Event:
    """A row of a source."""

    at: int
    key: str


@dataclass(frozen=True, slots=True)
class ProgressMark:
    """All that this sender says from now on is of windows that end later."""

    sender: str
    upto: int


SiteMessage = WindowPart | Event | ProgressMark
END = 1 << 60


@dataclass
class TaskState:
    """What a checkpoint holds: how far each topic was read, parts by identity, progress by sender, and what is emitted."""

    read: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    counts: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    parts: dict[tuple[str, int, str], int] = field(default_factory=dict)
    progress: dict[str, int] = field(default_factory=dict)
    emitted: int = 0  # windows that end up to here


class GeoTask:
    """One task of a stage, at a site."""

    def __init__(self, stage: Stage, name: str, senders: Sequence[str], topics: Mapping[str, list[SiteMessage]]) -> None:
        self.stage, self.name, self._senders, self._topics = stage, name, senders, topics
        self.state = TaskState()
        self._checkpoint = deepcopy(self.state)

    def checkpoint(self) -> None:
        self._checkpoint = deepcopy(self.state)

    def crash(self) -> None:
        self.state = deepcopy(self._checkpoint)

    def run(self, most: int) -> list[SiteMessage]:
        """A batch: reads so many messages of each topic, and says what has become complete."""
        for sender in self._senders:
            topic, state = self._topics[sender], self.state
            for message in topic[state.read[sender] : state.read[sender] + most]:
                self._take(message, sender)
            state.read[sender] = min(len(topic), state.read[sender] + most)
        return self._complete()

    def _take(self, message: SiteMessage, sender: str) -> None:
        match message:
            case Event(at=at, key=key):
                self.state.counts[at // self.stage.window_ms, key] += 1
            case WindowPart(sender=sender, window=window, key=key, rows=rows):
                self.state.parts[sender, window, key] = rows
            case ProgressMark(upto=upto):
                self.state.progress[sender] = max(upto, self.state.progress.get(sender, 0))

    def _complete(self) -> list[SiteMessage]:
        upto = min(self.state.progress.get(sender, 0) for sender in self._senders)
        if upto <= self.state.emitted:
            return []
        width = self.stage.window_ms
        sums: dict[tuple[int, str], int] = defaultdict(int)
        for (window, key), rows in self.state.counts.items():
            sums[window, key] += rows
        for (_, window, key), rows in self.state.parts.items():
            sums[window, key] += rows
        ripe = {at: n for at, n in sums.items() if self.state.emitted < (at[0] + 1) * width <= upto}
        self.state.emitted = upto
        said: list[SiteMessage] = [WindowPart(self.name, window, key, n) for (window, key), n in sorted(ripe.items())]
        return [*said, ProgressMark(self.name, upto)]


def played(
    plan: GeoPlan, deployed: Deployment, events: Mapping[str, Sequence[Event]], rng: Random, crashes: int = 0
) -> dict[tuple[int, str], int]:
    """Run a plan of windowed counts to its end, in an order that the generator chooses; answers with rows by window and key.

    A stage's keys are spread over its tasks. Events are sent in the order in which they are given, which need not be that
    of time.
    """
    topics: dict[str, dict[str, list[SiteMessage]]] = {}  # reader's task -> sender -> messages
    tasks: list[GeoTask] = []
    names: dict[str, list[str]] = {s.name: [s.name] for s in plan.stages if s.kind == "source"}
    for place, stage in enumerate(plan.stages):
        if stage.kind in ("source", "sink"):
            continue
        names[stage.name] = [f"{stage.name}@{n}" for n in range(deployed.parallelism(place))]
        senders = [task for above in stage.inputs for task in names[above]]
        for name in names[stage.name]:
            topics[name] = {sender: [] for sender in senders}
            tasks.append(GeoTask(stage, name, senders, topics[name]))
    readers = {s.name: [o for o in plan.stages if s.name in o.inputs] for s in plan.stages}
    results: dict[tuple[str, int, str], int] = {}

    def say(stage: Stage, sender: str, messages: Sequence[SiteMessage]) -> None:
        for reader in readers[stage.name]:
            if reader.kind == "sink":
                results.update({(m.sender, m.window, m.key): m.rows for m in messages if isinstance(m, WindowPart)})
                continue
            whole = names[reader.name]
            for message in messages:
                for n, name in enumerate(whole):
                    if isinstance(message, ProgressMark) or _task_of(message.key, len(whole)) == n:
                        topics[name][sender].append(message)

    for stage in plan.stages:
        if stage.kind == "source":
            say(stage, stage.name, _with_progress(stage.name, events.get(stage.name, ())))
    for _ in range(crashes + len(tasks)):
        task = rng.choice(tasks)
        say(task.stage, task.name, task.run(rng.randint(1, 5)))
        task.checkpoint() if rng.random() < 0.5 else None
        if crashes:
            rng.choice(tasks).crash()
            crashes -= 1
    for _ in range(len(plan.stages) + 1):  # to the end, each level once at least
        for task in tasks:
            say(task.stage, task.name, task.run(END))
    out: dict[tuple[int, str], int] = defaultdict(int)
    for (_, window, key), rows in results.items():
        out[window, key] += rows
    return dict(out)


def _with_progress(sender: str, events: Sequence[Event]) -> list[SiteMessage]:
    """After each row how far the source has come: nothing older follows."""
    out: list[SiteMessage] = []
    for place, event in enumerate(events):
        out.append(event)
        out.append(ProgressMark(sender, min((later.at for later in events[place + 1 :]), default=END)))
    return out or [ProgressMark(sender, END)]


def _task_of(key: str, tasks: int) -> int:
    return sum(key.encode()) % tasks
