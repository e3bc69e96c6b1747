"""The ways to set a slack threshold that SLTuner is measured against; each operator by itself, none knows of a deadline."""

from dataclasses import dataclass

from headway.errors import SettingError
from headway.model.slack import SlackSeen, SLTs


@dataclass(frozen=True, slots=True)
class StaticSlack:
    """The same threshold always."""

    ms: float

    def __post_init__(self) -> None:
        if not self.ms >= 0:
            raise SettingError("slack.ms", self.ms, "0 ms or more")

    def decide(self, seen: SlackSeen) -> SLTs:
        return SLTs(dict.fromkeys(seen.graph.operators, self.ms), because=f"fixed at {self.ms:g} ms")


@dataclass(frozen=True, slots=True)
class MaxTimestamp:
    """The greatest delay ever observed: no tuple within it is out of order (Mutschler, Philippsen; IPDPS 2013)."""

    def decide(self, seen: SlackSeen) -> SLTs:
        ms = {o: seen.worst_gap_ms.get(o, 0.0) for o in seen.graph.operators}
        return SLTs(ms, because=f"greatest delay so far, {max(ms.values()):.0f} ms")


@dataclass(frozen=True, slots=True)
class TcpAdaptation:
    """Halved when latency has risen, a second more when it has fallen (Mutschler, Philippsen; DEBS 2013)."""

    step_ms: float = 1000.0

    def __post_init__(self) -> None:
        if not self.step_ms > 0:
            raise SettingError("slack.step_ms", self.step_ms, "more than 0 ms")

    def decide(self, seen: SlackSeen) -> SLTs:
        ms = {o: self._next(seen, o) for o in seen.graph.operators}
        rose = sum(ms[o] < seen.slts[o] for o in ms)
        return SLTs(ms, because=f"latency rose at {rose} of {len(ms)} operators")

    def _next(self, seen: SlackSeen, operator: str) -> float:
        now, then, slt = seen.last.get(operator), seen.before.get(operator), seen.slts[operator]
        if now is None or then is None or now.latency_ms == then.latency_ms:
            return slt
        return slt / 2 if now.latency_ms > then.latency_ms else slt + self.step_ms
