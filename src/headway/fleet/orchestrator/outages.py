"""How long a move keeps its query out of service, by the words of the nodes themselves.

It begins when the query stands at the source, after its last batch there, and no further one is let through; it ends when
the query stands at the target and may run its first. What a query waits for because nothing is due is in service. Where
source and target are different machines, their clocks are compared: what these differ by is in the figure.
"""

from collections import deque
from dataclasses import dataclass

from headway.fleet.moves.moment import DrainMoment
from headway.fleet.node.wire import CommandReceipt
from headway.model.time import WallMs

REMEMBERED = 6  # outages, of the fleet or of a query
BUILDING = ("build", "lease", "fence", "copy", "partitions", "start", "gate")  # of a take and a start


@dataclass(frozen=True, slots=True)
class MoveOutage:
    """Of the move of a query. What is no part's is on the way: messages, and the writes of the record."""

    query: str
    epoch: int  # of the incarnation that serves since
    ms: int
    parts_ms: dict[str, float]

    def __str__(self) -> str:
        parts = ", ".join(f"{part} {ms:g}" for part, ms in self.parts_ms.items())
        return f"out of service for {self.ms} ms ({parts})"


class Outages:
    """Of the last move of each query, as far as it was heard: one elected in the middle of a move knows of none."""

    def __init__(self) -> None:
        self._stood: dict[str, tuple[int, WallMs]] = {}  # epoch, and when
        self._parts: dict[str, dict[str, float]] = {}
        self._known: dict[str, MoveOutage] = {}
        self._past: deque[MoveOutage] = deque(maxlen=REMEMBERED)
        self._past_of: dict[str, deque[MoveOutage]] = {}

    def moment(self, query: str) -> DrainMoment:
        """By its own outages before; by the fleet's, as long as it had none."""
        return DrainMoment.after([outage.ms for outage in self._past_of.get(query) or self._past])

    def of(self, query: str) -> MoveOutage | None:
        return self._known.get(query)

    def hear(self, told: CommandReceipt, moving: bool) -> MoveOutage | None:
        """The outage, if that was the last word that was needed. A start of a query that does not move ends none."""
        query = told.query
        if not told.done or not moving:
            return None
        if told.action == "drain" and self._stood.get(query, (0, 0))[0] != told.epoch:
            since = told.at if told.stood_at is None else told.stood_at
            self._stood[query] = (told.epoch, since)
            self._parts[query] = {"stop": float(told.at - since), "release": (told.parts_ms or {}).get("lease", 0.0)}
            self._known.pop(query, None)
        stood, known = self._stood.get(query), self._known.get(query)
        if told.action not in ("take", "start") or stood is None or told.epoch <= stood[0]:
            return None
        if known is not None and known.epoch >= told.epoch:  # a start is told again until there is a commit
            return None
        parts = self._parts[query]
        for part, ms in (told.parts_ms or {}).items():
            if part in BUILDING:
                parts[part] = round(parts.get(part, 0.0) + ms, 3)
        if told.action == "take":
            return None
        lasted = told.at - stood[1]
        way = round(max(0.0, lasted - sum(parts.values())), 3)
        self._known[query] = found = MoveOutage(query, told.epoch, lasted, {**parts, "on the way": way})
        # The way home, and a state that is rewritten, say nothing of how long a move takes as a rule.
        if told.epoch == stood[0] + 1 and "partitions" not in parts:
            self._past.append(found)
            self._past_of.setdefault(query, deque(maxlen=REMEMBERED)).append(found)
        return found
