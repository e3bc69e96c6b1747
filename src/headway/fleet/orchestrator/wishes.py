"""Where queries ought to be, what was asked for, and what is: three things that are kept apart.

A wish is asserted in every tick until what is seen agrees with it, or until it was tried and could not be. Wishing twice
changes nothing, so the policy need not remember what it has said.
"""

from dataclasses import dataclass, replace
from typing import Literal

from headway.fleet.moves.contract import MoveContract, standing
from headway.fleet.moves.record import QueryRecord
from headway.fleet.orchestrator.messages import MoveAsked

WishState = Literal["planned", "requested", "met", "given up"]


@dataclass(frozen=True, slots=True)
class PlacementWish:
    """One query's place, as it is wanted."""

    query: str
    target: str
    because: str
    id: str  # of the move that is asked for
    state: WishState = "planned"
    trouble: str = ""


class Wishes:
    """The actuator of the placement question."""

    def __init__(self, contract: MoveContract | None = None) -> None:
        self._contract = contract or MoveContract()
        self._wishes: dict[str, PlacementWish] = {}
        self._made = 0
        self._maker = 0

    def begin(self, leader: int) -> None:
        """A new primary wishes anew; its ids differ from those of all others."""
        self._wishes.clear()
        self._maker, self._made = leader, 0

    def wish(self, query: str, target: str, because: str) -> str:
        """Answers with a receipt. The last wish for a query counts, but one that is being carried out is carried out."""
        known = self._wishes.get(query)
        if known is not None and known.target == target and known.state in ("planned", "requested"):
            return f"{query} to {target}: {known.state} already"
        if known is not None and known.state == "requested":
            return f"{query} to {target}: waits for the end of the move to {known.target}"
        self._made += 1
        self._wishes[query] = PlacementWish(query, target, because, f"plan-{self._maker}-{self._made}")
        return f"{query} to {target}: planned"

    def withdraw(self, query: str) -> None:
        """It is well where it is. What is under way goes on."""
        known = self._wishes.get(query)
        if known is not None and known.state == "planned":
            del self._wishes[query]

    def of(self, query: str) -> PlacementWish | None:
        return self._wishes.get(query)

    @property
    def unmet(self) -> list[PlacementWish]:
        return [wish for wish in self._wishes.values() if wish.state in ("planned", "requested")]

    def due(self, wish: PlacementWish, record: QueryRecord | None) -> MoveAsked | None:
        """What has to be asked for, given what is seen of the query."""
        if record is None:
            self._settle(wish, "given up", "there is no such query")
            return None
        stands = standing(record, wish.id)
        if stands.state == "done" or (record.node == wish.target and record.move is None):
            self._settle(wish, "met")
        elif stands.state in ("undone", "home"):
            self._settle(wish, "given up", stands.line)
        elif stands.state == "under way":
            self._settle(wish, "requested")
        else:
            return MoveAsked(wish.id, wish.query, wish.target, wish.because, self._contract)
        return None

    def answered(self, id: str, accepted: bool, line: str) -> bool:
        """Whether it was one of ours that was asked for. A refusal is an answer: the wish is given up, and says why."""
        for wish in self._wishes.values():
            if wish.id == id:
                self._settle(wish, "requested" if accepted else "given up", "" if accepted else line)
                return True
        return False

    def _settle(self, wish: PlacementWish, state: WishState, trouble: str = "") -> None:
        self._wishes[wish.query] = replace(wish, state=state, trouble=trouble)
