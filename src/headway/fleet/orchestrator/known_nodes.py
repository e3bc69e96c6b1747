"""What is known of the nodes: which have a session with the store, and what each has reported, with its age."""

from collections.abc import Iterable
from dataclasses import dataclass

from headway.fleet.orchestrator.messages import NodeReport
from headway.model.time import WallMs

REACH_MS = 3_500  # three reports and a half, one a second
REPORTS = 3.5


@dataclass(frozen=True, slots=True)
class HeardNode:
    report: NodeReport
    at: WallMs  # when it came


class KnownNodes:
    """A node is a member while its session lives, and within reach while its reports come: two different things."""

    def __init__(self, reach_ms: int = REACH_MS) -> None:
        self._reach_ms = reach_ms
        self.period_ms = 0  # between two reports of a node at which nothing is going on
        self.members: frozenset[str] = frozenset()
        self.listed = False  # whether the list of members has come
        self._heard: dict[str, HeardNode] = {}

    def forget_members(self) -> None:
        self.members, self.listed = frozenset(), False

    def list_members(self, nodes: frozenset[str]) -> None:
        self.members, self.listed = nodes, True

    def hear(self, report: NodeReport, now: WallMs) -> bool:
        """Whether it is newer than what was heard before."""
        known = self._heard.get(report.node)
        if known is not None and (known.report.boot, known.report.number) >= (report.boot, report.number):
            return False
        self._heard[report.node] = HeardNode(report, now)
        return True

    def reachable(self, node: str, now: WallMs) -> bool:
        heard = self._heard.get(node)
        return heard is not None and now - heard.at < self._reach_ms

    def all_reachable(self, now: WallMs) -> list[str]:
        """Those that have reported as late as they had to. A query is moved between two that have just done so."""
        patience = max(self._reach_ms, REPORTS * self.period_ms)
        return sorted(node for node, heard in self._heard.items() if now - heard.at < patience)

    def all_usable(self, now: WallMs) -> list[str]:
        return [node for node in self.all_reachable(now) if node in self.members]

    def missing(self, nodes: Iterable[str]) -> list[str]:
        """Of these nodes, those without a session. None is missing before the members are known."""
        return [node for node in nodes if node not in self.members] if self.listed else []
