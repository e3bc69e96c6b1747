"""How far a query has read a log, and what is left of it."""

from dataclasses import dataclass

from headway.loop.partitions import Partitions
from headway.model.message import Part


@dataclass(slots=True)
class ReadSoFar:
    """Up to where the last batch of a query has read each partition."""

    ends: dict[Part, int]
    _level: tuple[int, int] | None = None  # the epoch of the log, and how many of its rows are read: see `unread`

    def unread(self, log: Partitions) -> int:
        """How many rows the next batch will find, by what the broker said last.

        Spark reads a partition that is new to the query from its beginning. Of one that begins anew, below where the query
        has read, it reads nothing until that is reached: such a partition must not hide what is left in others, so they are
        counted one by one. Once each was seen to be at least as far as the query has read, sums tell the same.
        """
        if self._level is not None and self._level[0] == log.epoch:
            return log.total - self._level[1]
        pairs = [(end, self.ends.get(name, 0)) for name, end in log.ends.items()]
        if all(end >= read for end, read in pairs):
            self._level = (log.epoch, sum(read for _, read in pairs))
        return sum(max(0, end - read) for end, read in pairs)
