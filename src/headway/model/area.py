"""A wide area: sites with slots, and the links between them."""

from dataclasses import dataclass

import numpy as np

from headway.errors import SettingError
from headway.model.arrays import Floats

LOCAL = 1e12  # bytes a second within a site: never what limits a stream
GB = 1e9


@dataclass(frozen=True, slots=True)
class Site:
    """A place with machines: so many tasks may run there at once."""

    name: str
    slots: int

    def __post_init__(self) -> None:
        if not self.name or self.slots < 0:
            raise SettingError("site.slots", self.slots, f"a name and 0 slots or more, for {self.name!r}")


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Every pair of sites: row *from*, column *to*. What the diagonal says of bandwidth and price is not looked at."""

    latency_ms: Floats
    bandwidth: Floats  # bytes a second that can be had now
    usd_per_gb: Floats
    age_ms: Floats  # since the bandwidth was last measured

    def __post_init__(self) -> None:
        shape = self.latency_ms.shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise SettingError("links.latency_ms", shape, "as many rows as columns, one for each site")
        for name in ("bandwidth", "usd_per_gb", "age_ms"):
            if getattr(self, name).shape != shape:
                raise SettingError(f"links.{name}", getattr(self, name).shape, f"the shape {shape} of the latencies")
        if (self.latency_ms < 0).any() or (self.bandwidth < 0).any():
            raise SettingError("links.bandwidth", "below 0", "0 or more; 0 is a link that is down")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Links):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("latency_ms", "bandwidth", "usd_per_gb", "age_ms")
        )

    def __hash__(self) -> int:
        return hash(self.latency_ms.shape)

    def __len__(self) -> int:
        return len(self.latency_ms)


@dataclass(frozen=True, slots=True)
class Area:
    """Sites, in one order everywhere, and their links."""

    sites: tuple[Site, ...]
    links: Links

    def __post_init__(self) -> None:
        names = self.names
        if len(set(names)) < len(names):
            raise SettingError("area.sites", names, "names, each once")
        if len(names) != len(self.links):
            raise SettingError("area.links", len(self.links), f"links of all {len(names)} sites")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(site.name for site in self.sites)

    @property
    def slots(self) -> Floats:
        return np.array([site.slots for site in self.sites], dtype=float)

    def __len__(self) -> int:
        return len(self.sites)
