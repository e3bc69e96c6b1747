"""What the adaptation question is shown of a pipeline that runs: rates of its stages, links as far as they were measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headway.estimate.link import LinkEstimates
from headway.model.adaptation import AreaView, PastChange
from headway.model.area import Area, Links, Site
from headway.model.arrays import Floats
from headway.model.geo import GeoPlan
from headway.model.piece import Piece
from headway.model.time import WallMs
from headway.wan.control.link_gauge import LinkRound
from headway.wan.control.rates import AreaRates, AreaSample
from headway.wan.control.record import AreaRecord
from headway.wan.control.sites import SiteAddress


class LinkMeter(Protocol):
    """What knows how full the links are."""

    @property
    def total(self) -> Floats: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def round(self) -> LinkRound: ...
    def full_now(self) -> frozenset[tuple[str, str]]: ...
    def down_now(self) -> frozenset[tuple[str, str]]: ...


class UnmeasuredLinks:
    """Links that are not watched: they stay what they were told to be."""

    def __init__(self, sites: int) -> None:
        self.total = np.zeros((sites, sites))

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def round(self) -> LinkRound:
        nothing = np.zeros_like(self.total)
        return LinkRound(1.0, nothing, nothing, nothing)

    def full_now(self) -> frozenset[tuple[str, str]]:
        return frozenset()

    def down_now(self) -> frozenset[tuple[str, str]]:
        return frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class KnownArea:
    """What is told of an area before anything is measured."""

    sites: tuple[SiteAddress, ...]
    bandwidth: Floats  # bytes a second
    latency_ms: Floats
    usd_per_gb: Floats

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(site.name for site in self.sites)


@dataclass(frozen=True, slots=True)
class ChangeHistory:
    """What became of earlier decisions."""

    changing: bool
    changed_at: WallMs
    past: tuple[PastChange, ...]


class AreaSight:
    """Of the plan that runs now. When that changes, rates begin anew."""

    def __init__(self, known: KnownArea, links: LinkEstimates, meter: LinkMeter, period_ms: int, keep_ms: int) -> None:
        """`period_ms`: rows may wait so long though all is well; `keep_ms`: rates are those of so long."""
        self.known, self.links, self.meter = known, links, meter
        self._period_ms, self._keep_ms = period_ms, keep_ms
        self._rates: AreaRates | None = None
        self._full: frozenset[tuple[str, str]] = frozenset()

    def runs(self, plan: GeoPlan, pieces: tuple[Piece, ...]) -> None:
        """These pieces, from now on."""
        if self._rates is None or self._rates.plan != plan:
            self._rates = AreaRates(plan, pieces, self._period_ms)
        elif self._rates.pieces != pieces:
            self._rates.pieces = pieces
            self._rates.begin()

    def begin(self) -> None:
        if self._rates is not None:
            self._rates.begin()

    def saw(self, sample: AreaSample) -> None:
        if self._rates is not None:
            self._rates.saw(sample, self._keep_ms)

    def rates(self) -> AreaRates | None:
        return self._rates

    def measure(self, now: WallMs) -> None:
        """Links, as they were since this was last asked. While one was full, what it carried is its bandwidth."""
        self._full = self.meter.full_now()  # before the round: that begins anew, and nothing is full in it yet
        round_ = self.meter.round()
        self.links.saw(now, round_.bytes_per_s, np.where(round_.full > 0, 1.0, 0.0))

    def view(
        self, now: WallMs, record: AreaRecord, plans: Sequence[GeoPlan], history: ChangeHistory, silent: frozenset[str]
    ) -> AreaView | None:
        """`silent`: sites whose nodes do not answer, and which nothing can be moved to."""
        seen = self._rates
        if seen is None:
            return None
        known = self.known
        sites = tuple(Site(site.name, 0 if site.name in silent else site.slots) for site in known.sites)
        links = Links(known.latency_ms, self._bandwidth(), known.usd_per_gb, self.links.age_ms(now))
        return AreaView(
            now, record.pipeline, Area(sites, links), seen.plan, record.current.deployed,
            seen.rates(self._full | self.meter.down_now()), tuple(plan for plan in plans if plan.name != seen.plan.name),
            history.changing, history.changed_at, history.past,
        )  # fmt: skip

    def _bandwidth(self) -> Floats:
        """What was measured of each link stays known while it is down: it comes back."""
        bandwidth, names = self.links.bandwidth.copy(), self.known.names
        for source, target in self.meter.down_now():
            bandwidth[names.index(source), names.index(target)] = 0.0
        return bandwidth
