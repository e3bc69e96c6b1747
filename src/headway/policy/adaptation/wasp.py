"""WASP: find what is bound by what, and change no more than that takes (Jonathan, Chandra, Weissman, 2020)."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from headway.errors import SettingError
from headway.model.adaptation import (
    AdaptationDecision,
    AdaptationMemory,
    AreaView,
    Degrade,
    Keep,
    Technique,
)
from headway.policy.adaptation.diagnosis import Diagnosis, Thresholds, diagnose
from headway.policy.adaptation.remedies import Rules, Ward
from headway.policy.adaptation.stage_program import Limits
from headway.policy.adaptation.streams import streams_of
from headway.policy.adaptation.tree import decided, judged, remembered

EVERY_TECHNIQUE: frozenset[Technique] = frozenset(
    ("re-assign", "scale-up", "scale-out", "scale-down", "re-plan", "degrade")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wasp:
    """Re-assign, scale, re-plan: by what is bound, and by what the stage is. Rows are dropped last, and only if allowed.

    A link is filled to `alpha`. Of a stage that the network holds up there are `p_max` tasks at most. State that would
    move for longer than `t_max_s` is split over more links. With `budget_usd_h` no placement costs more than that an
    hour.
    """

    alpha: float = 0.8
    p_max: int = 3
    t_max_s: float = 30.0
    goal: Literal["delay", "dollars"] = "delay"
    budget_usd_h: float = 0.0  # 0: none
    settle_ms: int = 80_000  # after a change, before it is judged
    calm_ms: int = 80_000  # before a task is taken away
    catch_up_s: float = 60.0
    slo_ms: int = 10_000  # rows later than this are dropped, where that is allowed and nothing else helps
    state_goes: Literal["aware", "random", "distant"] = "aware"
    techniques: ClassVar[frozenset[Technique]] = EVERY_TECHNIQUE

    def __post_init__(self) -> None:
        if not 0 < self.alpha <= 1:
            raise SettingError("adaptation.alpha", self.alpha, "a share above 0 and up to 1, e.g. 0.8")
        if self.p_max < 1:
            raise SettingError("adaptation.p_max", self.p_max, "1 task or more")
        for name in ("t_max_s", "budget_usd_h", "settle_ms", "calm_ms", "catch_up_s", "slo_ms"):
            if not getattr(self, name) >= 0:
                raise SettingError(f"adaptation.{name}", getattr(self, name), "0 or more")
        if self.goal not in ("delay", "dollars"):
            raise SettingError("adaptation.goal", self.goal, "delay or dollars")
        if self.state_goes not in ("aware", "random", "distant"):
            raise SettingError("adaptation.state_goes", self.state_goes, "aware, random or distant")

    @property
    def rules(self) -> Rules:
        limits = Limits(self.alpha, self.goal, self.budget_usd_h)
        return Rules(limits, self.p_max, self.t_max_s, max(1.0, self.catch_up_s), self.state_goes)

    def decide(self, seen: AreaView, memory: AdaptationMemory) -> tuple[AdaptationDecision, AdaptationMemory]:
        streams = streams_of(seen)
        memory = judged(seen, streams.rates.into.tolist(), memory)
        if seen.changing:
            return Keep("a change is under way"), memory
        found = diagnose(seen, streams, Thresholds(catch_up_s=self.catch_up_s, calm_ms=self.calm_ms))
        if found.ailment == "healthy":
            return self._well(seen, found, memory)
        decision: AdaptationDecision = decided(
            Ward(seen, streams, self.rules), found, self.techniques, memory, self.settle_ms
        )
        if isinstance(decision, Keep) and found.ailment != "over-allocated":
            decision = self._tight(seen, found, memory) or self._last_resort(seen, decision)
        return decision, remembered(decision, memory)

    def _well(
        self, seen: AreaView, found: Diagnosis, memory: AdaptationMemory
    ) -> tuple[AdaptationDecision, AdaptationMemory]:
        memory = replace(memory, in_vain=())
        if seen.degrading:
            return Degrade(None, f"{found.because}: nothing is dropped any more"), memory
        return Keep(found.because), memory

    def _tight(self, seen: AreaView, found: Diagnosis, memory: AdaptationMemory) -> AdaptationDecision | None:
        """With links filled to the brim, rather than not at all."""
        if self.alpha >= 1:
            return None
        full = replace(self.rules, limits=replace(self.rules.limits, alpha=1.0))
        made = decided(Ward(seen, streams_of(seen), full), found, self.techniques, memory, self.settle_ms)
        return None if isinstance(made, Keep) else replace(made, because=f"{made.because}; links are filled to the brim")

    def _last_resort(self, seen: AreaView, keep: Keep) -> AdaptationDecision:
        if "degrade" not in self.techniques or not seen.may_degrade or seen.degrading:
            return keep
        return Degrade(self.slo_ms, f"{keep.because}; rows later than {self.slo_ms} ms are dropped, as was allowed")
