"""How fast rows come to a query that reads them in batches.

Rows are counted when a batch ends: of a window of ten seconds nine seconds show none, and one shows ten times as many
as came in it. A forecast of that follows the batches and not the rows, and a ring made of it says now that a query uses
nothing, and now that it uses more than there is. What a batch has read came since the batch before; where a node is
overloaded that is what was sent, while rows read in a second are what got through.
"""

from dataclasses import dataclass, replace

SILENT = 3  # times the usual time between two batches without a row: then nothing comes any more,
SILENT_LEAST_S = 15  # but not before so many seconds
CLOSE_S = 2  # between two batches: seconds are too coarse to tell when such ones began


@dataclass(frozen=True, slots=True)
class QueryArrivals:
    """Of one query, second by second."""

    rate: float | None = None  # rows a second; None before two batches were seen
    quiet_s: int | None = None  # since the end of the last batch with rows; None: it is not known when that was
    usual_s: int = 1  # between the last two
    took_s: float = 0.0  # the last: it read what had come when it began

    def after(self, rows: float, waits: bool = False, took_s: float = 0.0) -> "QueryArrivals":
        """After a second in which a batch has ended that took so long and read so many rows; or none has.

        `waits`: for its turn, so that no rows read says nothing.
        """
        if rows > 0:
            if self.quiet_s is None:  # nobody knows since when they have come
                return replace(self, quiet_s=0, took_s=took_s)
            passed = self.quiet_s + 1
            later_s = self.took_s - took_s if passed > CLOSE_S else 0.0
            return QueryArrivals(rows / max(1.0, passed + later_s), 0, passed, took_s)
        if self.quiet_s is None:
            return self
        quiet = self.quiet_s + 1
        silent = not waits and quiet >= max(SILENT_LEAST_S, SILENT * self.usual_s)
        return replace(self, quiet_s=quiet, rate=0.0 if silent and self.rate is not None else self.rate)

    def elsewhere(self) -> "QueryArrivals":
        """In another life, which may have read the last rows of the one before, or not."""
        return replace(self, quiet_s=None)
