"""What has happened to a fleet, for the screen and for the page."""

from dataclasses import dataclass, field

from headway_lab.experiments.fleet_live.stage import StagePlan
from headway_lab.experiments.fleet_live.watch import FleetMove, FleetSample


@dataclass
class FleetStory:
    """Scenes, one after another, and what was seen of them."""

    plan: StagePlan
    heavy: tuple[str, ...] = ()  # queries that wake up
    scenes: list[tuple[int, str]] = field(default_factory=list)  # since when, what
    samples: list[FleetSample] = field(default_factory=list)
    moves: list[FleetMove] = field(default_factory=list)
    left_s: float = 0.0  # of this scene
    disturbed: str | None = None  # the node beside which a program eats

    @property
    def parts(self) -> list[tuple[str, int, int]]:
        """Each scene with when it began and ended."""
        ends = [*(at for at, _ in self.scenes[1:]), self.samples[-1].at_ms]
        return [(what, at, end) for (at, what), end in zip(self.scenes, ends, strict=True)]

    def second(self, at_ms: int) -> float:
        """Since the beginning."""
        return (at_ms - self.scenes[0][0]) / 1000
