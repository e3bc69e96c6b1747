"""Where a pipeline begins, there it stays."""

from dataclasses import dataclass

from headway.model.adaptation import AdaptationDecision, AdaptationMemory, AreaView, Keep


@dataclass(frozen=True, slots=True)
class NoAdapt:
    """Nothing ever changes: what a pipeline has without a controller."""

    def decide(self, seen: AreaView, memory: AdaptationMemory) -> tuple[AdaptationDecision, AdaptationMemory]:
        return Keep("nothing ever changes"), memory
