"""The kernel: every question is asked the same way. See, decide, guard, act, write down.

A question is a value: what is asked, about what, which policy decides, what limits that, and what carries it out. A
message makes some of them due; a standing one, such as which query runs next, is asked in every turn. This file knows none
of them by name: those of a runtime are in `questions/`.
"""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from time import thread_time
from typing import Any, Generic, Protocol, TypeVar

from headway.model.message import BatchSeen
from headway.model.time import WallMs
from headway.model.view import QueryView

View = TypeVar("View")
Memory = TypeVar("Memory")


class Decided(Protocol):
    """Whatever is decided says why."""

    @property
    def because(self) -> str: ...


Answer = TypeVar("Answer", bound=Decided)


def changed(decided: Any, before: Any) -> bool:
    return bool(decided != before)


@dataclass(frozen=True, slots=True)
class Question(Generic[View, Memory, Answer]):
    """What is asked, about what, which policy answers, and what carries out the answer."""

    name: str
    scope: str  # "" for the whole runtime; a query, or a query and its input, as `clicks/orders`
    policy: Any  # for the record: what decides
    decide: Callable[[View, Memory], tuple[Answer, Memory]]  # pure
    see: Callable[[WallMs], View | None]  # None: there is nothing to decide now
    act: Callable[[Answer, WallMs], str]  # answers with a receipt
    memory: Memory  # before the first decision
    guards: tuple[Callable[[Answer, View], Answer], ...] = ()
    news: Callable[[Answer, Answer | None], bool] = changed  # whether a decision is worth a line, given the one before

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.scope


def without_memory(policy: Any) -> Callable[[Any, None], tuple[Any, None]]:
    """`decide` of a policy to which a view says all."""
    return lambda seen, memory: (policy.decide(seen), memory)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal: what was seen, wished, decided and done, by which policy and about what."""

    at: WallMs
    seen: Any
    proposed: Any
    decided: Any
    receipt: str
    question: str = "order"
    scope: str = ""
    policy: str = ""
    memory: Any = None  # before the decision


class Log(Protocol):
    def append(self, entry: Entry) -> None: ...
    def batch(self, seen: BatchSeen, view: QueryView) -> None: ...
    def note(self, at: WallMs, query: str, text: str) -> None: ...


class StopWatch:
    """How much processor time decisions take, all in all: our own overhead."""

    def __init__(self) -> None:
        self.total_ms, self.count, self._since = 0.0, 0, 0.0

    def start(self) -> None:
        self._since = thread_time()

    def stop(self, asked: int = 1) -> None:
        self.total_ms += (thread_time() - self._since) * 1000
        self.count += asked


class Kernel:
    """Asks the questions that are due. One thread; it reads no clock of its own."""

    def __init__(self, journal: Log) -> None:
        self.journal, self.watch = journal, StopWatch()
        self._questions: dict[tuple[str, str], Question[Any, Any, Any]] = {}
        self._due: dict[tuple[str, str], None] = {}  # in the order in which they became so
        self._memories: dict[tuple[str, str], Any] = {}
        self._said: dict[tuple[str, str], Any] = {}

    def add(self, question: Question[Any, Any, Any]) -> None:
        """From now on this may be asked. One of the same name and scope is replaced, and what it had learnt forgotten."""
        self.drop(question.name, question.scope)
        self._questions[question.key] = question

    def drop(self, name: str, scope: str) -> None:
        for kept in (self._questions, self._due, self._memories, self._said):
            kept.pop((name, scope), None)

    def due(self, name: str, scope: str) -> None:
        """Something has changed that this question is about; nothing happens if it is not asked here."""
        if (name, scope) in self._questions:
            self._due[name, scope] = None

    def settle(self, now: WallMs) -> None:
        """Ask all that is due."""
        while self._due:
            key = next(iter(self._due))
            del self._due[key]
            self.ask(self._questions[key], now)

    def ask(self, question: Question[View, Memory, Answer], now: WallMs) -> Answer | None:
        """See, decide, guard, act, write down. None if there is nothing to decide."""
        self.watch.start()
        seen = question.see(now)
        if seen is None:
            self.watch.stop()
            return None
        memory = self._memories.get(question.key, question.memory)
        proposed, after = question.decide(seen, memory)
        decided = proposed
        for guard in question.guards:
            decided = guard(decided, seen)
        self.watch.stop()
        receipt = question.act(decided, now)
        self._memories[question.key] = after
        if question.news(decided, self._said.get(question.key)):
            policy = named(question.policy)
            self.journal.append(Entry(now, seen, proposed, decided, receipt, question.name, question.scope, policy, memory))
        self._said[question.key] = decided
        return decided

    def forget_said(self) -> None:
        """What is decided next is news, whatever was said before."""
        self._said.clear()


def named(policy: Any) -> str:
    """A policy with the settings that are not as they come: `Quantile(share=0.9)`."""
    kind = type(policy).__name__
    if not is_dataclass(policy):
        return kind
    set_ = [f"{f.name}={getattr(policy, f.name)!r}" for f in fields(policy) if f.init and _differs(policy, f)]
    return f"{kind}({', '.join(set_)})" if set_ else kind


def _differs(policy: Any, field: Any) -> bool:
    return field.default is MISSING or getattr(policy, field.name) != field.default
