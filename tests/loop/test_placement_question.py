"""Placement as questions of the kernel: guards, what is news, and a journal that decides the same again."""

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.estimate.rings import stacked, total
from headway.loop import codec
from headway.loop.journal import Journal, JournalReader
from headway.loop.kernel import Entry, Kernel
from headway.loop.questions.placement import (
    PLACEMENT,
    REQUEST,
    asks_anew,
    changes_something,
    never_ask_for_the_resting,
    never_ask_while_cooling,
    placement,
    request,
)
from headway.loop.replay import again, replay
from headway.model.placement import (
    Choice,
    Computations,
    FleetView,
    HostView,
    Move,
    MoveRequest,
    NodeView,
    PlacementDecision,
    PlacementMemory,
    PlacementPolicy,
    Placements,
    Refuse,
    RequestDecision,
    RequestMemory,
    RequestMove,
    Start,
    Stay,
)
from headway.model.time import WallMs
from headway.policy.placement import LeastLoaded, NearIdeal, PredictionRings, RandomPlacement, RoundRobinPlacement
from model.fleets import NOW, SMALL, fleets, host, hosts, node, steady
from model.fleets import request as asked
from tried import tried

ROUND_MS = 1000


class NoBook:
    def append(self, entry: Entry) -> None: ...
    def batch(self, seen: Any, view: Any) -> None: ...
    def note(self, at: WallMs, query: str, text: str) -> None: ...


def asking(seen: FleetView, *choices: Choice) -> PlacementDecision:
    """What becomes of a wish for these choices, in a kernel with the guards of the question."""

    @dataclass(frozen=True)
    class Wishes(PredictionRings):
        def decide(self, seen: FleetView, memory: PlacementMemory) -> tuple[PlacementDecision, PlacementMemory]:
            return Placements(choices, "as wished"), memory

    question = placement("fleet", Wishes(), lambda now: seen, lambda decided, now: "done")
    decided = Kernel(NoBook()).ask(question, NOW)
    assert decided is not None
    return decided


def refused(seen: FleetView, *choices: Choice) -> dict[str, str]:
    """Which queries the guards refuse, and what they say of it."""
    decided = asking(seen, *choices)
    assert isinstance(decided, Placements) and [c.query for c in decided.choices] == [c.query for c in choices]
    return {c.query: c.because for c in decided.choices if isinstance(c, Refuse)}


def fleet(*nodes: NodeView, requests: tuple[MoveRequest, ...] = ()) -> FleetView:
    return FleetView(NOW, nodes or (node("a"), node("b"), node("c"), node("d")), requests)


def test_a_wish_within_the_limits_is_granted_as_it_is() -> None:
    wish = Move("q", "a", "b", "a reason")
    assert asking(fleet(requests=(asked("q", "a"),)), wish) == Placements((wish,), "as wished")


@pytest.mark.parametrize(
    ("move", "says"),
    [
        (Move("q", "a", "a", "x"), "x; but it is on a already"),
        (Move("q", "b", "c", "x"), "x; but it runs on a, not on b"),
        (Move("p", "a", "b", "x"), "x; but p does not ask to move"),
        (Move("q", "a", "z", "x"), "x; but z takes no queries"),
    ],
)
def test_no_move_that_makes_no_sense(move: Move, says: str) -> None:
    assert refused(fleet(requests=(asked("q", "a"),)), move) == {move.query: says}


@pytest.mark.parametrize("which", ["a", "b"])
@pytest.mark.parametrize("how", [{"cooling_until": WallMs(NOW + 1)}, {"moving": True}])
def test_nothing_moves_to_or_from_a_node_that_cools_down_or_takes_part_in_a_move(which: str, how: dict[str, Any]) -> None:
    nodes = tuple(node(name, **(how if name == which else {})) for name in ("a", "b"))
    wish = Move("q", "a", "b", "x")
    said = f"x; but {which} takes part in a move, or has just done so"
    assert refused(fleet(*nodes, requests=(asked("q", "a"),)), wish) == {"q": said}


def test_a_cool_down_that_is_over_keeps_nothing_back() -> None:
    nodes = (node("a", cooling_until=NOW), node("b", cooling_until=WallMs(NOW - 1)))
    assert refused(fleet(*nodes, requests=(asked("q", "a"),)), Move("q", "a", "b", "x")) == {}


def test_one_move_a_node_at_a_time() -> None:
    seen = fleet(requests=(asked("q", "a"), asked("p", "b"), asked("r", "c")))
    said = refused(seen, Move("q", "a", "d", "x"), Move("p", "b", "a", "y"), Move("r", "c", "d", "z"))
    assert said == {
        "p": "y; but a takes part in another move of this round",
        "r": "z; but d takes part in another move of this round",
    }


def test_new_queries_start_only_where_they_are_taken() -> None:
    seen = fleet(node("a"), node("b", ready=False))
    assert refused(seen, Start("q", "b", "x"), Start("p", "a", "y")) == {"q": "x; but b takes no queries"}


def test_a_node_asks_for_nothing_that_rests_is_elsewhere_or_must_wait() -> None:
    seen = host([0.4, 0.5])
    wish = RequestMove(asked("q1", "a"), "x")
    assert never_ask_for_the_resting(wish, seen) == wish == never_ask_while_cooling(wish, seen)
    resting = replace(seen, resting={"q1": WallMs(NOW + 7)})
    assert never_ask_for_the_resting(wish, resting) == Stay("x; but q1 rests for 7 ms more")
    assert never_ask_for_the_resting(RequestMove(asked("z", "a"), "x"), seen) == Stay("x; but z does not run on a")
    busy = host([0.4, 0.5], moving=True)
    assert never_ask_while_cooling(wish, busy) == Stay("x; but a takes part in a move, or has just done so")


def test_what_is_news_of_a_node() -> None:
    one, same, other = (RequestMove(asked(query, "a"), why) for query, why in (("q", "x"), ("q", "y"), ("p", "x")))
    assert asks_anew(one, None) and not asks_anew(Stay("x"), None)
    assert not asks_anew(same, one) and asks_anew(other, one) and asks_anew(Stay("x"), one) and asks_anew(one, Stay("x"))
    assert not asks_anew(Stay("x"), Stay("y"))


def test_what_is_news_of_a_fleet() -> None:
    move, refusal = Placements((Move("q", "a", "b", "x"),), "1 moved"), Placements((Refuse("q", "x"),), "1 refused")
    assert changes_something(move, move) and changes_something(refusal, None) and not changes_something(refusal, refusal)
    assert changes_something(Stay("x"), refusal) and not changes_something(Stay("x"), Stay("y"))
    assert not changes_something(Stay("x"), None)


# ---- what the journal holds


@given(fleets(), st.sampled_from([PredictionRings(threshold=0.0), RandomPlacement(), NearIdeal()]))
def test_a_fleet_comes_back_as_it_went_and_would_be_decided_the_same(seen: FleetView, policy: PlacementPolicy) -> None:
    decided, memory = policy.decide(seen, PlacementMemory(turn=3))
    back, said, knew = (codec.told(codec.tell(value)) for value in (seen, decided, memory))
    assert (back, said, knew) == (seen, decided, memory)
    assert policy.decide(back, PlacementMemory(turn=3)) == (decided, memory)
    assert policy.decide(back, knew) == policy.decide(seen, memory)


@given(hosts())
def test_a_node_comes_back_as_it_went_and_would_ask_the_same(seen: HostView) -> None:
    policy, memory = PredictionRings(threshold=0.0), RequestMemory(dict.fromkeys(seen.computations.names, 5))
    decided, after = policy.request(seen, memory)
    back, said, knew = (codec.told(codec.tell(value)) for value in (seen, decided, after))
    assert (back, said, knew) == (seen, decided, after) and policy.request(back, memory) == (decided, after)


@dataclass
class TinyFleet:
    """Nodes whose computations wax and wane; a move takes no time. It holds what an orchestrator would."""

    policy: PlacementPolicy
    kernel: Kernel
    loads: dict[str, float]
    homes: dict[str, str]
    now: WallMs = NOW
    cooling: dict[str, WallMs] = field(default_factory=dict)
    resting: dict[str, WallMs] = field(default_factory=dict)
    requests: dict[str, MoveRequest] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in self.nodes:
            self.kernel.add(request(name, self.policy, partial(self._host_now, name), self.hear))
        self.kernel.add(placement("fleet", self.policy, lambda now: self.view(), self.act))

    @property
    def nodes(self) -> list[str]:
        return ["a", "b", "c"]

    def _host_now(self, name: str, now: WallMs) -> HostView:
        return self.host(name)

    def host(self, name: str) -> HostView:
        mine = [query for query, home in sorted(self.homes.items()) if home == name]
        rings = stacked([replace(steady(self._use(query)), at=self.now) for query in mine], SMALL, self.now)
        load = sum(map(self._use, mine))
        view = NodeView(name, total(rings), load=load, cooling_until=self.cooling.get(name, WallMs(0)), queries=len(mine))
        return HostView(self.now, view, Computations(tuple(mine), rings), dict(self.resting))

    def view(self) -> FleetView:
        every = [self.host(name) for name in self.nodes]
        rings = stacked([ring for one in every for ring in one.computations.rings], SMALL, self.now)
        names = tuple(name for one in every for name in one.computations.names)
        table = Computations(names, rings, tuple(self.homes[name] for name in names))
        known = table if self.policy.foresees else None
        return FleetView(
            self.now, tuple(one.node for one in every), tuple(self.requests.values()), (), dict(self.resting), known
        )

    def hear(self, decided: RequestDecision, now: WallMs) -> str:
        if isinstance(decided, RequestMove):
            self.requests[decided.request.node] = decided.request
        return "sent"

    def act(self, decided: PlacementDecision, now: WallMs) -> str:
        for choice in decided.choices if isinstance(decided, Placements) else ():
            if isinstance(choice, Move):
                self.homes[choice.query] = choice.target
                self.cooling |= dict.fromkeys((choice.source, choice.target), choice.cool_until)
                self.moves.append(choice)
            elif isinstance(choice, Refuse):
                self.resting[choice.query] = choice.rest_until
        return "done"

    def round(self) -> None:
        self.requests.clear()
        for name in self.nodes:
            self.kernel.due(REQUEST, name)
        self.kernel.due(PLACEMENT, "fleet")
        self.kernel.settle(self.now)
        self.now = WallMs(self.now + ROUND_MS)

    def _use(self, query: str) -> float:
        return float(self.loads[query] * (1 + 0.3 * np.sin((self.now - NOW) / 7000 + len(query))))


PLAYED: list[PlacementPolicy] = [
    PredictionRings(rounds=2, cool_down_ms=3000, rest_ms=4000, threshold=0.0),
    LeastLoaded(limit=0.2, rounds=2, cool_down_ms=3000, rest_ms=4000),
    RoundRobinPlacement(limit=0.2, rounds=2, cool_down_ms=3000),
    RandomPlacement(limit=0.2, rounds=2, cool_down_ms=3000),
    NearIdeal(replan_ms=9000),
]
every_played_policy = pytest.mark.parametrize("policy", PLAYED, ids=lambda policy: type(policy).__name__)


def play(policy: PlacementPolicy, loads: list[float], path: Path, rounds: int = 20) -> TinyFleet:
    """A fleet that begins with everything on its first node, and what was decided in a journal."""
    journal = Journal(path)
    names = {f"q{row}{'x' * (row % 3)}": load for row, load in enumerate(loads)}
    made = TinyFleet(policy, Kernel(journal), names, dict.fromkeys(names, "a"))
    for _ in range(rounds):
        made.round()
    journal.close()
    return made


@every_played_policy
@tried(5)
@given(loads=st.lists(st.floats(0.2, 0.6), min_size=2, max_size=6))
def test_a_journal_is_decided_the_same_again_bit_for_bit(
    policy: PlacementPolicy, loads: list[float], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.db"
    played = play(policy, loads, path)
    entries = list(JournalReader(path).entries(PLACEMENT))
    written = [c for e in entries for c in getattr(e.decided, "choices", ()) if isinstance(c, Move)]
    assert played.moves and written == played.moves
    assert [entry for entry, _ in replay(JournalReader(path).entries(PLACEMENT), policy)] == []
    assert [entry for entry, _ in replay(JournalReader(path).entries(REQUEST), policy)] == []


@every_played_policy
def test_imbalance_is_relieved_and_cool_downs_are_kept(policy: PlacementPolicy, tmp_path: Path) -> None:
    played = play(policy, [0.3, 0.3, 0.3, 0.3, 0.3, 0.3], tmp_path / "journal.db", rounds=60)
    spread = [sum(load for query, load in played.loads.items() if played.homes[query] == name) for name in played.nodes]
    assert max(spread) < 1.8 and played.moves


def test_another_policy_is_asked_what_it_would_have_done(tmp_path: Path) -> None:
    play(PLAYED[0], [0.3, 0.3, 0.3, 0.2], tmp_path / "journal.db")
    entries = list(JournalReader(tmp_path / "journal.db").entries(PLACEMENT))
    assert entries and again(entries[0], PLAYED[0]) == entries[0].proposed
    assert list(replay(entries, RoundRobinPlacement()))
    assert entries[0].policy.startswith("PredictionRings(") and entries[0].scope == "fleet"
