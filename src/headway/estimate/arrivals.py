"""How fast rows come to a query that reads them in batches.

Rows are counted when a batch ends: of a window of ten seconds nine seconds show none, and one shows ten times as many
as came in it. A forecast of that follows the batches and not the rows, and a ring made of it says now that a query uses
nothing, and now that it uses more than there is. What a batch has read came since the batch before; where a node is
overloaded that is what was sent, while rows read in a second are what got through.
"""

from dataclasses import dataclass, replace

SILENT = 3  # times the usual time between two batches without a row: then nothing comes any more,
SILENT_LEAST_S = 15  # but not before so many seconds


@dataclass(frozen=True, slots=True)
class QueryArrivals:
    """Of one query, second by second."""

    rate: float | None = None  # rows a second; None before two batches were seen
    quiet_s: int | None = None  # since the last batch with rows; None: it is not known when that was
    usual_s: int = 1  # between the last two

    def after(self, rows: float, waits: bool = False) -> "QueryArrivals":
        """After a second in which so many rows were read. `waits`: for its turn, so that no rows read says nothing."""
        if rows > 0:
            if self.quiet_s is None:  # nobody knows since when they have come
                return replace(self, quiet_s=0)
            passed = self.quiet_s + 1
            return QueryArrivals(rows / passed, 0, passed)
        if self.quiet_s is None:
            return self
        quiet = self.quiet_s + 1
        silent = not waits and quiet >= max(SILENT_LEAST_S, SILENT * self.usual_s)
        return replace(self, quiet_s=quiet, rate=0.0 if silent and self.rate is not None else self.rate)

    def elsewhere(self) -> "QueryArrivals":
        """In another life, which may have read the last rows of the one before, or not."""
        return replace(self, quiet_s=None)
