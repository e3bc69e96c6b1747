"""Drop what is too late, and change nothing else."""

from dataclasses import dataclass

from headway.errors import SettingError
from headway.model.adaptation import AdaptationDecision, AdaptationMemory, AreaView, Degrade, Keep


@dataclass(frozen=True, slots=True)
class DegradeOnly:
    """Rows that are later than `slo_ms` are dropped from the beginning, if the user allows it."""

    slo_ms: int = 10_000

    def __post_init__(self) -> None:
        if self.slo_ms < 0:
            raise SettingError("adaptation.slo_ms", self.slo_ms, "0 ms or more")

    def decide(self, seen: AreaView, memory: AdaptationMemory) -> tuple[AdaptationDecision, AdaptationMemory]:
        if seen.degrading:
            return Keep(f"rows later than {self.slo_ms} ms are dropped"), memory
        if not seen.may_degrade:
            return Keep("rows may not be dropped"), memory
        return Degrade(self.slo_ms, f"rows later than {self.slo_ms} ms are dropped, whatever happens"), memory
