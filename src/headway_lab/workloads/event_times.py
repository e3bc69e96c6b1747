"""When the events of a generated stream happen: evenly, or by a table of unequal gaps. In numpy and in SQL."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headway_lab.workloads.hashing import Longs
from headway_lab.workloads.sql import entry


@dataclass(frozen=True)
class EventTimes:
    """Event `i` happens `i` mean gaps after the epoch; with `gaps`, as they say within each block of events."""

    rate: int  # events per second
    epoch_ms: int  # event time of event 0
    gaps: tuple[int, ...] = ()  # when the events of a block happen, in thousandths of a mean gap from its start

    @property
    def block(self) -> int:
        """The length of a block, in thousandths of a mean gap."""
        return 1_000 * len(self.gaps)

    @cached_property
    def _gaps(self) -> Longs:
        return np.array(self.gaps, dtype=np.int64)

    def count_before(self, until_ms: int) -> int:
        """How many events happen before that."""
        thousandths = max(0, until_ms - self.epoch_ms) * self.rate
        if not self.gaps:
            return -(-thousandths // 1_000)
        blocks, rest = divmod(thousandths, self.block)
        return blocks * len(self.gaps) + int(np.searchsorted(self._gaps, rest))

    def event_ms(self, i: Longs) -> Longs:
        if not self.gaps:
            return self.epoch_ms + i * 1_000 // self.rate
        return self.epoch_ms + (i // len(self.gaps) * self.block + self._gaps[i % len(self.gaps)]) // self.rate

    def event_ms_sql(self) -> str:
        """The SQL for when event `i` happens."""
        return f"{self.epoch_ms}L + {self._thousandths_sql()} div {self.rate}L"

    def _thousandths_sql(self) -> str:
        """The same after the epoch, in thousandths of a mean gap."""
        if not self.gaps:
            return "i * 1000L"
        place = f"cast(i % {len(self.gaps)}L as int)"
        return f"(i div {len(self.gaps)}L * {self.block}L + {entry(self._gaps, place)})"

    def candidates_sql(self, held_ms: int) -> tuple[str, str]:
        """The SQL for the `first` and the `last` event that may arrive in an interval, if none is held back for longer."""
        since = f"greatest(since - {self.epoch_ms + held_ms}L, 0L) * {self.rate}L"
        until = f"(until - {self.epoch_ms}L) * {self.rate}L"
        if not self.gaps:
            return f"({since} + 999L) div 1000L as first", f"({until} + 999L) div 1000L - 1L as last"
        # Whole blocks: what is too much of them is sorted out by its time of arrival.
        block, size = f"{self.block}L", f"{len(self.gaps)}L"
        return f"{since} div {block} * {size} as first", f"({until} div {block} + 1L) * {size} - 1L as last"
