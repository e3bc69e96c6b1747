"""Which query a line belongs to: the identity of a query's control source, as it calls the gate.

A line may hang up and call again, and a controller that has begun anew finds it again. All of that goes by its identity and
never by the connection.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Incarnation:
    """One life of a query: from a start of it to its end."""

    run: str  # Spark's own id of it
    token: int | None = None  # of the lease on its checkpoint, which grows with every holder; None without such a lease

    def __str__(self) -> str:
        return f"run {self.run}" if self.token is None else f"run {self.run} with lease {self.token}"


@dataclass(frozen=True, slots=True)
class LineId:
    """Which query, from which checkpoint, in which of its lives."""

    query: str  # Spark's id of the query. It stands in the checkpoint, so it is the same in every life.
    checkpoint: str | None  # None: it is not known
    incarnation: Incarnation

    def comes_back_as(self, caller: "LineId") -> bool:
        """Whether a caller is this line again. A caller does not know its lease, and may know its checkpoint by another
        name: the query and the run decide."""
        return self.query == caller.query and self.incarnation.run == caller.incarnation.run

    def found_at(self, checkpoint: str | None) -> "LineId":
        """The same, with the checkpoint as Spark names it to the source, if it has named one."""
        return self if checkpoint is None else replace(self, checkpoint=checkpoint)
