"""What a placement is judged by: the plan, the area, and the rates that are to be expected."""

from dataclasses import dataclass, replace

import numpy as np

from headway.estimate.stream_rates import (
    ExpectedRates,
    expected_rates,
    link_use,
    network_ms,
    path_ms,
    planned_rates,
    usd_an_hour,
)
from headway.model.adaptation import AreaView
from headway.model.area import Area
from headway.model.arrays import Floats
from headway.model.geo import Counts, Deployment, GeoPlan

SAME = 1e-6  # bytes a second, and shares: less is rounding


@dataclass(frozen=True, slots=True, eq=False)
class Streams:
    """A plan in an area at certain rates."""

    plan: GeoPlan
    area: Area
    rates: ExpectedRates

    @property
    def usd_per_gb(self) -> Floats:
        """Within a site nothing is paid."""
        price = self.area.links.usd_per_gb.copy()
        np.fill_diagonal(price, 0.0)
        return price

    def use(self, deployed: Deployment) -> Floats:
        """Bytes a second from site to site, none within a site."""
        use = link_use(self.plan, deployed, self.rates.out)
        np.fill_diagonal(use, 0.0)
        return use

    def usd_h(self, deployed: Deployment) -> float:
        return usd_an_hour(self.use(deployed), self.area.links.usd_per_gb)

    def network_ms(self, deployed: Deployment) -> float:
        return network_ms(self.plan, deployed, self.area.links.latency_ms)

    def path_ms(self, deployed: Deployment) -> float:
        return path_ms(self.plan, deployed, self.area.links.latency_ms)

    def fill(self, deployed: Deployment) -> Floats:
        """Of each link's bandwidth, what this deployment would take; infinity where a link is down."""
        use, bandwidth = self.use(deployed), self.area.links.bandwidth
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(use > SAME, use / bandwidth, 0.0)

    def taken(self, table: Counts) -> Counts:
        """Slots by site. A source runs outside of the slots: it is where the world writes its rows."""
        counted = [place for place, stage in enumerate(self.plan.stages) if stage.kind != "source"]
        return np.asarray(table[counted].sum(axis=0))

    def fits(self, deployed: Deployment, alpha: float, budget_usd_h: float = 0.0) -> bool:
        """Slots, links up to alpha both ways, and the budget."""
        table = deployed.table
        if (self.taken(table) > self.area.slots).any() or (table.sum(axis=1) < 1).any():
            return False
        if (self.fill(deployed) > alpha + SAME).any():
            return False
        return not budget_usd_h or self.usd_h(deployed) <= budget_usd_h + SAME

    def of(self, plan: GeoPlan) -> "Streams":
        """Another plan of the same sources, at what they send now."""
        sent = {s.name: float(self.rates.out[i]) for i, s in enumerate(self.plan.stages) if s.kind == "source"}
        return replace(self, plan=plan, rates=planned_rates(plan, sent))


def streams_of(seen: AreaView) -> Streams:
    return Streams(seen.plan, seen.area, expected_rates(seen.plan, seen.rates))


def pinned(plan: GeoPlan, area: Area) -> Counts:
    """Tasks of the stages whose place is given; the others have none yet."""
    at = {name: column for column, name in enumerate(area.names)}
    table = np.zeros((len(plan.stages), len(area)), dtype=np.int64)
    for place, stage in enumerate(plan.stages):
        if stage.site is not None:
            table[place, at[stage.site]] = 1
    return table
