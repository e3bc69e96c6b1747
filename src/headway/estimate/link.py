"""How much bandwidth there is from site to site: from transfers that happen anyway, and from probes within a budget.

A transfer that did not fill its link proves only that there is at least as much; one that did shows how much there is. A
link that was not used for long is probed, the oldest first, with no more bytes than the budget allows. Every figure has
its age.
"""

from dataclasses import dataclass, field

import numpy as np

from headway.errors import SettingError
from headway.model.arrays import Floats

FULL = 0.95  # of the time that a transfer had something to send: it was the link that held it up


@dataclass(frozen=True, slots=True)
class LinkWatch:
    """How links are measured."""

    weight: float = 0.5  # of a new figure, in the smoothing
    stale_ms: int = 300_000  # an estimate that is older is due for a probe
    urgent_ms: int = 60_000  # the same where something is about to move
    probe_bytes: float = 32_000.0
    half_life_ms: int = 60_000  # of what a figure counts for, once there is a newer one
    budget: float = 0.01  # of a link's bandwidth that probes may take, over a round

    def __post_init__(self) -> None:
        if not 0 < self.weight <= 1:
            raise SettingError("links.weight", self.weight, "a share above 0 and up to 1, e.g. 0.5")
        if not 0 <= self.budget < 1:
            raise SettingError("links.budget", self.budget, "a share from 0 to 1, e.g. 0.01")
        if min(self.stale_ms, self.urgent_ms) < 0 or self.half_life_ms < 1 or self.probe_bytes <= 0:
            raise SettingError("links.stale_ms", self.stale_ms, "0 ms or more, and probes of more than 0 bytes")


@dataclass(slots=True)
class LinkEstimates:
    """What is known of every link; it changes with each round of figures."""

    bandwidth: Floats  # bytes a second
    measured_ms: Floats  # when
    watch: LinkWatch = field(default_factory=LinkWatch)
    probed_bytes: float = 0.0  # in all

    def saw(self, now: int, bytes_per_s: Floats, busy: Floats) -> None:
        """Transfers of one round: how fast each link was while it was used, and which part of the round that was.

        A link that was busy all the time shows its bandwidth, and a figure above what was thought is a better bound.
        """
        filled = busy >= FULL
        more = (bytes_per_s > self.bandwidth) & (busy > 0)
        self._take(now, np.where(filled | more, bytes_per_s, np.nan))

    def probes(self, now: int, round_ms: int, urgent: bool = False) -> Floats:
        """Bytes to send over each link to see how fast it is: the stale ones, as far as the budget of their link goes."""
        stale = now - self.measured_ms >= (self.watch.urgent_ms if urgent else self.watch.stale_ms)
        np.fill_diagonal(stale, False)
        affordable = self.watch.budget * self.bandwidth * round_ms / 1000 * self._rounds_since(now, round_ms)
        size = np.where(stale, np.minimum(self.watch.probe_bytes, affordable), 0.0)
        # Too small a probe measures how a connection starts, not the link. A link thought to be down is asked all the same.
        down = stale & (self.bandwidth <= 0)
        return np.asarray(np.where((size >= self.watch.probe_bytes / 4) | down, np.maximum(size, 1.0), 0.0))

    def probed(self, now: int, sent: Floats, bytes_per_s: Floats) -> None:
        """What came of the probes that were sent."""
        self.probed_bytes += float(sent.sum())
        self._take(now, np.where(sent > 0, bytes_per_s, np.nan))

    def age_ms(self, now: int) -> Floats:
        age = now - self.measured_ms
        np.fill_diagonal(age, 0.0)
        return np.asarray(age)

    def _rounds_since(self, now: int, round_ms: int) -> Floats:
        """A budget that was not used is kept: a thin link is probed seldom, not never."""
        return np.maximum(1.0, (now - self.measured_ms) / round_ms)

    def _take(self, now: int, figures: Floats) -> None:
        told = ~np.isnan(figures)
        # An old figure says little of now: the older it is, the less of it is left. A link that was down begins anew.
        age = np.maximum(0.0, now - self.measured_ms)
        keep = (1 - self.watch.weight) * 0.5 ** (age / self.watch.half_life_ms)
        keep = np.where((self.bandwidth <= 0) | (figures <= 0), 0.0, keep)
        mixed = keep * self.bandwidth + (1 - keep) * np.where(told, figures, 0.0)
        self.bandwidth = np.where(told, mixed, self.bandwidth)
        self.measured_ms = np.where(told, float(now), self.measured_ms)


def first_known(bandwidth: Floats, now: int = 0, watch: LinkWatch | None = None) -> LinkEstimates:
    """To begin with: what was measured when the area was set up."""
    return LinkEstimates(bandwidth.copy(), np.full(bandwidth.shape, float(now)), watch or LinkWatch())
