"""Slack gate: rows, not the clock, tell how far a stream has come; the fastest source waits for the slowest, to a limit."""

from dataclasses import dataclass

from headway.model.patience import PatienceView, Wait
from headway.model.time import duration_ms
from headway.policy.patience.bounds import Gated


@dataclass(frozen=True, slots=True)
class SlackGate(Gated):
    """The watermark is max(min_j frontier_j, max_j frontier_j - SLT), over the sources and partitions of a query.

    While no source is further behind the foremost than SLT (the slack threshold), results are those of a deterministic
    merge, whatever the rows' way and order of coming in. Beyond that the foremost go on, and what comes later is late.
    """

    slt: str | int = "0 ms"

    def __post_init__(self) -> None:
        duration_ms("patience.slt", self.slt)

    @property
    def slt_ms(self) -> int:
        return duration_ms("patience.slt", self.slt)

    @property
    def most_ms(self) -> int:
        return self.slt_ms

    def decide(self, seen: PatienceView) -> Wait:
        return Wait(self.slt_ms, "the slack threshold")
