"""A geo plan: which stages a pipeline over many sites has, what flows between them, and how many tasks run where.

A *stage* is a streaming query of Spark, or as many of it as it has tasks; stages on one site meet without a network.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["source", "stateless", "partial", "combine", "join", "sink"]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a plan. What it does to how many rows, and how large these are, are properties of the data."""

    name: str
    kind: Kind
    inputs: tuple[str, ...] = ()
    site: str | None = None  # where it has to be, as a source has; None: anywhere
    selectivity: float = 1.0  # rows out for each row in
    most_per_s: float | None = None  # rows out: an aggregate has no more than its keys for each window
    row_bytes: float = 100.0  # of a row that it sends on
    task_per_s: float = 50_000.0  # rows that one task can process
    state_mb: float = 0.0  # of all its tasks together
    splittable: bool = True  # into more than one task
    window_ms: int = 0  # of a tumbling window, at whose end its state is empty; 0: none
    covers: tuple[str, ...] = ()  # sources whose rows are in what it sends
    progress: bool = True  # a source says how far its event time has come

    @property
    def stateful(self) -> bool:
        return self.state_mb > 0

    @property
    def free(self) -> bool:
        """Whether it may be placed."""
        return self.site is None

    @property
    def signature(self) -> tuple[str, tuple[str, ...]]:
        """Two stages with the same one, of two plans of one query, have the same state."""
        return self.kind, tuple(sorted(self.covers))


@dataclass(frozen=True, slots=True)
class GeoPlan:
    """Stages such that each comes after its inputs. `headway.wan.plan` makes them, and finds what is wrong with one."""

    name: str
    stages: tuple[Stage, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(stage.name for stage in self.stages)

    def index(self, stage: str) -> int:
        return self.names.index(stage)

    def stage(self, name: str) -> Stage:
        return self.stages[self.index(name)]

    def edges(self) -> list[tuple[int, int]]:
        """From stage to stage, by their places in the plan."""
        at = {stage.name: place for place, stage in enumerate(self.stages)}
        return [(at[name], place) for place, stage in enumerate(self.stages) for name in stage.inputs]

    def shares_state_with(self, other: "GeoPlan") -> frozenset[str]:
        """Stateful stages whose state a stage of the other plan can go on with."""
        theirs = {stage.signature for stage in other.stages}
        return frozenset(s.name for s in self.stages if s.stateful and s.signature in theirs)


@dataclass(frozen=True, slots=True)
class Deployment:
    """How many tasks of each stage (a row, in the order of the plan) run at each site (a column, in that of the area)."""

    tasks: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(rows: Iterable[Iterable[int]]) -> "Deployment":
        return Deployment(tuple(tuple(int(n) for n in row) for row in rows))

    @property
    def table(self) -> Counts:
        return np.array(self.tasks, dtype=np.int64)

    def parallelism(self, place: int) -> int:
        return sum(self.tasks[place])

    def sites(self, place: int) -> tuple[int, ...]:
        """Where a stage is, by the places of the sites."""
        return tuple(site for site, n in enumerate(self.tasks[place]) if n)

    def replaced(self, place: int, row: Iterable[int]) -> "Deployment":
        made = list(self.tasks)
        made[place] = tuple(int(n) for n in row)
        return Deployment(tuple(made))
