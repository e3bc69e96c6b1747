"""Aion minus: the same sample, but stragglers are waited for."""

from dataclasses import dataclass, replace
from math import ceil

from headway.model.sampling import Sampling, StreamView
from headway.policy.sampling.aion import Aion, Wish, enough


@dataclass(frozen=True, slots=True)
class AionMinus(Aion):
    """Aion without its watermarks: a fraction of all rows, which are complete after the longest delay so far."""

    def timed(self, seen: StreamView, wish: Wish) -> Sampling:
        everything = self.all_of(seen, f"{enough(seen, wish)}; waits {self.longest_ms(seen)} ms, the longest delay so far")
        return replace(everything, share=wish.share, keys=wish.keys, needed=ceil(wish.needed))
