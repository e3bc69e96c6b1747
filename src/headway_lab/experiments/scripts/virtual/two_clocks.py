"""The clocks of the machine that a script is played on: one that can be set, and one that cannot."""

from dataclasses import dataclass

from headway.model.time import VirtualClock, WallMs
from headway_lab.experiments.scripts.virtual.script import BASE


@dataclass
class TwoClocks:
    """The machine's wall clock, which can be set, and its monotonic clock, which cannot."""

    true: VirtualClock
    off: int = 0  # how far the wall clock is ahead of true time
    followed: int = 0  # and how far the controller's own is

    def now(self) -> WallMs:
        """By the controller's own clock, which goes on as the monotonic clock does."""
        return WallMs(BASE + self.true.at + self.followed)

    def wall(self) -> WallMs:
        return WallMs(BASE + self.true.at + self.off)

    def skew_ms(self) -> int:
        return self.off - self.followed

    def follow_wall(self) -> None:
        self.followed = self.off

    @property
    def true_ms(self) -> int:
        return BASE + self.true.at
