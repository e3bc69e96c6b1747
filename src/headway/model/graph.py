"""The operators of an application and how long a tuple takes from one to the next."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from headway.errors import SettingError


@dataclass(frozen=True, slots=True)
class Edge:
    """Results of one operator go to another and take `comm_ms` to get there."""

    source: str
    target: str
    comm_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Graph:
    """Operators and edges, without circles."""

    operators: tuple[str, ...]
    edges: tuple[Edge, ...] = ()

    def __post_init__(self) -> None:
        if not self.operators or len(set(self.operators)) < len(self.operators):
            raise SettingError("graph.operators", self.operators, "one or more names, each once")
        for edge in self.edges:
            if not {edge.source, edge.target} <= set(self.operators) or not edge.comm_ms >= 0:
                raise SettingError("graph.edges", edge, "two of the operators and 0 ms or more")
        if len(self.in_order()) < len(self.operators):
            raise SettingError("graph.edges", self.edges, "no circle: results must not come back to an operator")

    def in_order(self) -> tuple[str, ...]:
        """Operators such that each comes after all that feed it; those on a circle are left out."""
        out: list[str] = []
        while fresh := [
            o for o in self.operators if o not in out and all(e.source in out for e in self.edges if e.target == o)
        ]:
            out += fresh
        return tuple(out)

    def paths(self) -> tuple[tuple[str, ...], ...]:
        """Every way from an operator that no other feeds to one that feeds no other."""
        fed = {e.target for e in self.edges}
        return tuple(path for o in self.operators if o not in fed for path in self._onward((o,)))

    def _onward(self, path: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        nexts = [e.target for e in self.edges if e.source == path[-1]]
        return tuple(longer for o in nexts for longer in self._onward((*path, o))) if nexts else (path,)

    def latency_ms(self, latency: Mapping[str, float]) -> float:
        """Eq. 2: the longest path, each operator with its latency and the way to the next."""
        comm = {(e.source, e.target): e.comm_ms for e in self.edges}
        return max(sum(latency[o] for o in path) + sum(comm[pair] for pair in pairwise(path)) for path in self.paths())
