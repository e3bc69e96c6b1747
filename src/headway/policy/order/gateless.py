"""Baselines without a gate: Spark itself decides, as it does without Headway."""

from dataclasses import dataclass
from typing import ClassVar

from headway.errors import SettingError
from headway.model.decision import Decision, Hold
from headway.model.time import WallMs
from headway.model.view import Snapshot


class Gateless:
    """Not asked in practice, since these queries have no gate. If a gate asks all the same, the answer says so."""

    __slots__ = ()
    gated: ClassVar[bool] = False
    pools: ClassVar[bool] = False

    def decide(self, snap: Snapshot) -> Decision:
        return Hold(WallMs(snap.now + 1000), because="Spark decides: this policy has no gate")


@dataclass(frozen=True, slots=True)
class Stock(Gateless):
    """Structured Streaming as it is: every query runs its next batch as soon as the last one is done."""


@dataclass(frozen=True, slots=True)
class FairPools(Gateless):
    """Stock, each query in a pool of its own under Spark's FAIR scheduler (`spark.scheduler.mode=FAIR`)."""

    pools: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class FixedTrigger(Gateless):
    """Stock with a processing-time trigger, the usual advice against too many small batches."""

    every_ms: int = 1_000

    def __post_init__(self) -> None:
        if self.every_ms <= 0:
            raise SettingError("order.every_ms", self.every_ms, "more than 0 milliseconds")
