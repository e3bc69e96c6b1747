"""What to do when the wall clock was set: time goes on as before, until rows show that the new time is right."""

from collections.abc import Callable, Sequence

from headway.errors import aloud
from headway.model.time import STEP_MS, Clock

FITS = 3  # batches that must fit to a clock before it is followed

Fit = tuple[bool, bool]  # whether rows fit to our clock, and to the wall clock


class ClockSteps:
    """Compares our clock with the wall clock, and with rows."""

    def __init__(self, clock: Clock, note: Callable[[str], None]) -> None:
        self.said: str | None = None  # what was last said of it
        self._clock, self._note = clock, note
        self._skew_ms = 0  # when we last looked
        self._fits = (0, 0)  # batches since then whose rows fit to our clock, and to the wall clock

    def skew_ms(self) -> int:
        """By how much the wall clock has been set since we looked at it first; what Spark and brokers say is by that."""
        skew = self._clock.skew_ms()
        if abs(skew - self._skew_ms) >= STEP_MS or (self._skew_ms and not skew):
            self._skew_ms, self._fits = skew, (0, 0)
            self._say(f"the wall clock was set by {skew / 1000:+,.1f} s: time goes on as before until rows agree with it")
        return skew

    def follow(self, fits: Sequence[Fit], skew_ms: int) -> bool:
        """Take in a batch's rows after a step. True if our clock was wrong from the start: from now on it is the wall clock.

        A replay may fit to the wrong one by chance: as long as any stream fits to ours, that is kept.
        """
        self._fits = (self._fits[0] + sum(ours for ours, _ in fits), self._fits[1] + sum(wall for _, wall in fits))
        if self._fits[1] < FITS or self._fits[0]:
            return False
        self._clock.follow_wall()
        self._skew_ms, self._fits = 0, (0, 0)
        self._say(f"rows agree with the wall clock, which was set by {skew_ms / 1000:+,.1f} s: it is followed")
        return True

    def _say(self, text: str) -> None:
        self.said = text
        self._note(text)
        aloud(text)
