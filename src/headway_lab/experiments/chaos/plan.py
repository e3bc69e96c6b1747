"""What runs in every child, kept in the work folder: a restart must see the same streams."""

import random
from dataclasses import dataclass
from pathlib import Path

from headway.sim.delays import Uniform
from headway_lab.harness.children import StoredPlan
from headway_lab.workloads.ysb import Ysb

WINDOW_MS, PATIENCE_MS = 2_000, 500
HASTY_MS = 350  # the patience of queries that have late rows


@dataclass(frozen=True)
class ChaosPlan(StoredPlan):
    """Queries by the generator and from Kafka; some of each refuse rows that are late, and keep them."""

    seed: int
    epoch_ms: int
    boot_ms: int  # wall time when the monotonic clock stood at zero
    address: str | None = None  # of the broker
    rate: int = 100

    @property
    def names(self) -> list[str]:
        return ["made_0", "made_1", "made_late", *(["kafka", "kafka_late"] if self.address else [])]

    def streams(self) -> dict[str, Ysb]:
        chance = random.Random(self.seed)
        return {
            name: Ysb(
                self.seed * 1000 + i, self.rate, self.epoch_ms, Uniform(0, PATIENCE_MS), WINDOW_MS,
                offset_ms=chance.randrange(WINDOW_MS),
            )
            for i, name in enumerate(self.names)
        }  # fmt: skip


def from_kafka(name: str) -> bool:
    return name.startswith("kafka")


def keeps_late(name: str) -> bool:
    return name.endswith("_late")


def journal(work: Path) -> Path:
    return work / "journal"


def checkpoint(work: Path, name: str) -> Path:
    return work / "checkpoints" / name


def side_table(work: Path, name: str) -> Path:
    return work / "late" / name
