"""The kernel asks any question the same way: one that it has never heard of as well."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from headway.loop.kernel import Entry, Kernel, Question, named
from headway.loop.questions.patience import never_hurry_the_old, patience
from headway.loop.replay import replay
from headway.model.patience import PatienceView, Wait
from headway.model.time import WallMs
from headway.policy.order import Klink, RoundRobin
from headway.policy.patience import Fixed, Quantile


@dataclass
class Book:
    entries: list[Entry] = field(default_factory=list)

    def append(self, entry: Entry) -> None:
        self.entries.append(entry)

    def batch(self, seen: Any, view: Any) -> None: ...
    def note(self, at: WallMs, query: str, text: str) -> None: ...


@dataclass(frozen=True)
class Move:
    """A toy placement: which node a query goes to."""

    node: str
    because: str


@dataclass(frozen=True)
class Calmest:
    """The node with the least load, unless one was moved in the last two decisions: memory is a value."""

    rest: int = 2

    def decide(self, loads: dict[str, float], since: int) -> tuple[Move, int]:
        calmest = min(loads, key=lambda node: (loads[node], node))
        return (Move(calmest, f"load {loads[calmest]:g}"), 0) if since >= self.rest else (Move("", "rests"), since + 1)


class ToyFleet:
    """What a toy orchestrator knows."""

    def __init__(self) -> None:
        self.loads: dict[str, float] | None = {"a": 0.9, "b": 0.2}
        self.moved: list[str] = []
        self.book = Book()
        self.kernel = Kernel(self.book)

    def question(self, *guards: Callable[[Move, Any], Move]) -> Question[Any, int, Move]:
        def act(move: Move, now: WallMs) -> str:
            self.moved.append(move.node)
            return "moved" if move.node else "stays"

        policy = Calmest()
        return Question("placement", "clicks", policy, policy.decide, lambda now: self.loads, act, policy.rest, guards)


def test_there_is_room_for_a_question_it_has_never_heard_of() -> None:
    fleet = ToyFleet()
    fleet.kernel.add(fleet.question())
    for at in range(4):
        fleet.kernel.due("placement", "clicks")
        fleet.kernel.settle(WallMs(at))
    assert fleet.moved == ["b", "", "", "b"]
    assert [(e.question, e.scope, e.policy, e.memory, e.receipt) for e in fleet.book.entries] == [
        ("placement", "clicks", "Calmest", 2, "moved"),
        ("placement", "clicks", "Calmest", 0, "stays"),  # the next says the same, and is no news
        ("placement", "clicks", "Calmest", 2, "moved"),
    ]


def test_a_guard_has_the_last_word_and_the_wish_is_kept() -> None:
    fleet = ToyFleet()
    fleet.kernel.ask(fleet.question(lambda move, seen: Move("a", f"{move.because}; b is drained")), WallMs(5))
    (entry,) = fleet.book.entries
    assert (
        fleet.moved == ["a"]
        and entry.proposed == Move("b", "load 0.2")
        and entry.decided.because == "load 0.2; b is drained"
    )


def test_where_there_is_nothing_to_decide_nobody_is_asked() -> None:
    fleet = ToyFleet()
    fleet.loads = None
    assert fleet.kernel.ask(fleet.question(), WallMs(0)) is None
    assert not fleet.moved and not fleet.book.entries and fleet.kernel.watch.count == 1


def test_what_is_not_asked_here_is_never_due_and_what_is_dropped_is_forgotten() -> None:
    fleet = ToyFleet()
    fleet.kernel.due("placement", "clicks")
    fleet.kernel.add(fleet.question())
    fleet.kernel.settle(WallMs(0))
    assert not fleet.moved
    fleet.kernel.ask(fleet.question(), WallMs(0))
    fleet.kernel.add(fleet.question())  # anew: it does not rest any more
    fleet.kernel.due("placement", "clicks")
    fleet.kernel.drop("placement", "clicks")
    fleet.kernel.settle(WallMs(1))
    fleet.kernel.ask(fleet.question(), WallMs(2))
    assert fleet.moved == ["b", "b"]


def test_what_became_due_while_others_were_asked_is_asked_too() -> None:
    book, said = Book(), []
    kernel = Kernel(book)

    def asks(name: str, then: str) -> Question[Any, Any, Any]:
        def act(wait: Wait, now: WallMs) -> str:
            said.append(name)
            kernel.due(then, "")
            return "done"

        return Question(name, "", Fixed("1 s"), lambda seen, memory: (Wait(1, name), memory), lambda now: 1, act, None)

    kernel.add(asks("first", then="second"))
    kernel.add(asks("second", then="nobody"))
    kernel.due("first", "")
    kernel.settle(WallMs(0))
    assert said == ["first", "second"]


@pytest.mark.parametrize(("policy", "name"), [
    (Klink(), "Klink"), (RoundRobin(), "RoundRobin"), (Klink(confidence=0.9), "Klink(confidence=0.9)"),
    (Quantile(0.9, floor=5), "Quantile(floor=5, share=0.9)"), (object(), "object"),
])  # fmt: skip
def test_the_journal_says_who_decided_and_how_it_was_set(policy: Any, name: str) -> None:
    assert named(policy) == name


def test_old_rows_are_not_hurried() -> None:
    wait = Wait(100, "so it is")
    assert never_hurry_the_old(wait, PatienceView(most_ms=9_000)) == wait
    held = never_hurry_the_old(wait, PatienceView(old=True, most_ms=9_000))
    assert held.ms == 9_000 and held.because.startswith("so it is; but its rows are old")


@pytest.mark.parametrize("wished", [-5, 10**9])
def test_patience_keeps_to_what_its_policy_has_promised(wished: int) -> None:
    class Wild(Quantile):
        def decide(self, seen: PatienceView) -> Wait:
            return Wait(wished, "wild")

    book = Book()
    set_ms: list[int] = []

    def set_to(wait: Wait, now: WallMs) -> str:
        set_ms.append(wait.ms)
        return "set"

    question = patience("q/i", Wild(floor=20, ceiling=80), lambda now: PatienceView(), set_to)
    Kernel(book).ask(question, WallMs(0))
    assert set_ms == [20 if wished < 0 else 80] and "bounded to 20..80 ms" in book.entries[0].decided.because
    assert book.entries[0].proposed == Wait(wished, "wild") and not list(replay(book.entries, Wild(floor=20, ceiling=80)))
