"""Do queries gain by sharing the stages that they have in common?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.errors import HeadwayError
from headway.estimate.stream_rates import planned_rates
from headway.model.area import Area
from headway.model.geo import GeoPlan
from headway.policy.adaptation.first import first_placement
from headway.policy.adaptation.stage_program import Limits
from headway.policy.adaptation.streams import Streams


@dataclass(frozen=True, slots=True)
class SharedCosts:
    """What queries take apart and together: bytes a second between sites, dollars an hour, tasks, ms of network an edge."""

    bytes_per_s: tuple[float, float]
    usd_h: tuple[float, float]
    tasks: tuple[int, int]
    network_ms: tuple[float, float]

    @property
    def pays(self) -> bool:
        """It costs less, and no result comes much later."""
        return self.bytes_per_s[1] < self.bytes_per_s[0] and self.network_ms[1] <= 1.1 * self.network_ms[0]


def shared_costs(
    area: Area, apart: Sequence[GeoPlan], together: GeoPlan, sent: Mapping[str, float], limits: Limits
) -> SharedCosts | None:
    """None if one of both fits nowhere."""
    try:
        ones = [_costs(area, plan, sent, limits) for plan in apart]
        both = _costs(area, together, sent, limits)
    except HeadwayError:
        return None
    sums = [sum(one[n] for one in ones) for n in range(3)]
    slowest = max(one[3] for one in ones)
    return SharedCosts(
        (sums[0], both[0]), (sums[1], both[1]), (round(sums[2]), round(both[2])), (slowest, both[3])
    )  # fmt: skip


def _costs(area: Area, plan: GeoPlan, sent: Mapping[str, float], limits: Limits) -> tuple[float, float, int, float]:
    _, made = first_placement(area, (plan,), sent, limits)
    streams = Streams(plan, area, planned_rates(plan, sent))
    bytes_per_s = float(streams.use(made.deployed).sum())
    tasks = int(streams.taken(made.deployed.table).sum())
    return bytes_per_s, streams.usd_h(made.deployed), tasks, streams.network_ms(made.deployed) / max(1, len(plan.edges()))
