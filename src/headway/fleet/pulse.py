"""For how long a session cannot have been given up, by our own clock: a value, without a clock of its own.

A server of an ensemble tells the leader, which gives sessions up, of a session's signs of life once in half a tick. It may
die before it has told of the last one. An answered beat proves that the one before it has been told of: so it is the beat
before the last that counts, from when it was sent.
"""

from dataclasses import dataclass, replace

HOLD = 0.75  # of the timeout, for which a holder is sure: the rest is for clocks that differ in pace
BEAT = 1 / 6  # of it, between two beats
APART = 0.1  # of it, at the least: of two beats closer than that, the second proves nothing


@dataclass(frozen=True, slots=True)
class Pulse:
    """The signs of life of one session; seconds by the clock of its holder."""

    timeout_s: float
    counted: float  # since then the session cannot have been silent
    latest: float  # the last beat that was answered

    @classmethod
    def born(cls, timeout_s: float, at: float) -> "Pulse":
        """A session that was asked for at this moment: the leader itself has made it, later."""
        return cls(timeout_s, at, at)

    def answered(self, sent: float) -> "Pulse":
        """A beat that was sent then has been answered."""
        if sent - self.latest < APART * self.timeout_s:
            return self
        return replace(self, counted=self.latest, latest=sent)

    @property
    def until(self) -> float:
        return self.counted + HOLD * self.timeout_s
