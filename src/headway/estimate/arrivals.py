"""How fast rows come to a query that reads them in batches.

Rows are counted when a batch ends: of a window of ten seconds nine seconds show none, and one shows ten times as many
as came in it. A forecast of that follows the batches and not the rows, and a ring made of it says now that a query uses
nothing, and now that it uses more than there is. What a batch has read came since the batch before; where a node is
overloaded that is what was sent, while rows read in a second are what got through.
"""

from collections.abc import Sequence
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

    def after(self, reads: Sequence[float], waits: bool = False, took_s: float = 0.0) -> tuple["QueryArrivals", list[float]]:
        """After seconds in which so many rows were read each, by batches that took so long; and the rate in each of them,
        from when it is known.

        `waits`: for its turn, so that no rows read says nothing.
        """
        rate, quiet, usual, before_s, rates = self.rate, self.quiet_s, self.usual_s, self.took_s, list[float]()
        for rows in reads:  # a fleet of thousands has tens of thousands of these in a second
            if rows > 0:
                if quiet is not None:  # else nobody knows since when they have come
                    usual = quiet + 1
                    later_s = before_s - took_s if usual > CLOSE_S else 0.0
                    rate = rows / max(1.0, usual + later_s)
                quiet, before_s = 0, took_s
            elif quiet is not None:
                quiet += 1
                if rate and not waits and quiet >= max(SILENT_LEAST_S, SILENT * usual):
                    rate = 0.0
            if rate is not None:
                rates.append(rate)
        return QueryArrivals(rate, quiet, usual, before_s), rates

    def elsewhere(self) -> "QueryArrivals":
        """In another life, which may have read the last rows of the one before, or not."""
        return replace(self, quiet_s=None)
