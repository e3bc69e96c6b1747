"""What a controller of a simulated area knows: rates of a round, what waits, and bandwidth as far as it was seen."""

import numpy as np

from headway.estimate.link import LinkEstimates, LinkWatch, first_known
from headway.model.adaptation import StageRates
from headway.model.arrays import Floats
from headway.sim.wan.engine import StageTally, StepSeen, WanEngine

SHORT_S = 1.0  # of the rows of one sender that wait: a stage keeps up that has no more of any
FEW = 50.0  # rows, which are nothing


class AreaMonitor:
    """Sums up steps until it is asked, and then begins anew."""

    def __init__(self, engine: WanEngine, seed: int, watch: LinkWatch | None = None, noise: float = 0.03) -> None:
        self._engine, self._noise = engine, noise
        self._rng = np.random.default_rng([seed, 11])
        self.links: LinkEstimates = first_known(engine.truth.area.links.bandwidth, 0, watch)
        self.unpaid = np.zeros(engine.truth.area.links.bandwidth.shape)  # bytes of probes that are not counted yet
        self._strained: dict[str, int] = {}  # since which step it has not kept up
        self._calm: dict[str, int] = {}
        self.begin()

    def begin(self) -> None:
        """Rates are those from here on."""
        engine = self._engine
        self._since = engine.step_at
        self._before = {name: _copied(tally) for name, tally in engine.tallies.items()}
        shape = engine.truth.area.links.bandwidth.shape
        self._bytes, self._held_up, self._used = np.zeros(shape), np.zeros(shape), np.zeros(shape)

    def see(self, step: StepSeen) -> None:
        used = step.link_bytes > 0
        self._bytes += step.link_bytes
        self._held_up += step.held_up
        self._used += used
        at = self._engine.step_at
        for stage in self._engine.plan.stages:
            name = stage.name
            if self._keeps_up(name):
                self._strained.pop(name, None)
                self._calm.setdefault(name, at)
            else:
                self._strained.setdefault(name, at)
                self._calm.pop(name, None)

    def paid(self) -> Floats:
        """Bytes of probes since it was last asked."""
        owed, self.unpaid = self.unpaid, np.zeros_like(self.unpaid)
        return owed

    def rates(self) -> tuple[StageRates, ...]:
        """Of every stage, since it was last asked or told to begin."""
        engine = self._engine
        seconds = max(1, engine.step_at - self._since) * engine.dt
        out = []
        for stage in engine.plan.stages:
            now, then = engine.tallies[stage.name], self._before.get(stage.name, StageTally())
            out.append(
                StageRates(
                    stage.name,
                    (now.arrived - then.arrived) / seconds,
                    (now.processed - then.processed) / seconds,
                    (now.emitted - then.emitted) / seconds,
                    float(engine.flows.waiting(stage.name)),
                    self._lasts(self._strained, stage.name),
                    self._lasts(self._calm, stage.name),
                )
            )
        return tuple(out)

    def measure_links(self, now: int, round_ms: int) -> Floats:
        """Bandwidth by transfers of this round, and by probes of the links that were not used."""
        steps = max(1, self._engine.step_at - self._since)
        dt = self._engine.dt
        while_used = np.where(self._used > 0, self._bytes / np.maximum(self._used, 1) / dt, 0.0)
        self.links.saw(now, while_used, np.where(self._used > 0, self._held_up / steps, 0.0))
        probes = self.links.probes(now, round_ms, urgent=bool(self._strained))
        true = self._engine.truth.bandwidth(max(0, self._engine.step_at - 1))
        noisy = true * np.clip(1 + self._noise * self._rng.standard_normal(true.shape), 0.5, 1.5)
        self.links.probed(now, probes, noisy)
        self.unpaid += probes
        return self.links.bandwidth

    def _keeps_up(self, name: str) -> bool:
        """Whether no sender has more rows waiting for a stage than it sends in a moment."""
        flows = self._engine.flows
        places = flows.to_stage.get(name)
        if not places:
            return True
        waiting = flows.wire[places].sum(axis=1) + flows.here[places].sum(axis=1)
        return bool((waiting <= SHORT_S * flows.fresh[places] / self._engine.dt + FEW).all())

    def _lasts(self, since: dict[str, int], name: str) -> int:
        return (self._engine.step_at - since[name]) * self._engine.truth.step_ms if name in since else 0


def _copied(tally: StageTally) -> StageTally:
    return StageTally(tally.sent_to, tally.arrived, tally.processed, tally.emitted, tally.lost)
