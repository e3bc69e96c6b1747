"""A city cut into areas by rank, so that two cities have the same areas: the third column from the west, the first row from
the south.

The edges are quantiles of a stream's own positions. Each column has about as many reports as any other, and so has each row
of a column: a busy centre falls into many small areas, the outskirts into few large ones.
"""

from dataclasses import dataclass

import numpy as np

from headway.errors import SettingError
from headway_lab.workloads.bus_delays import Floats
from headway_lab.workloads.feed import Longs


@dataclass(frozen=True, eq=False)
class Areas:
    """`across` columns of as many areas each, numbered column by column from the south-west."""

    across: int
    west_edges: Floats  # between columns
    south_edges: Floats  # between the areas of each column: a row for each

    @classmethod
    def fitted(cls, lon: Floats, lat: Floats, across: int = 4) -> "Areas":
        """The areas of a city in which these are the positions."""
        if across < 1:
            raise SettingError("areas.across", across, "1 or more")
        if len(lon) != len(lat) or not len(lon):
            raise SettingError("areas", (len(lon), len(lat)), "as many longitudes as latitudes, at least one")
        cuts = np.arange(1, across) / across
        west = np.quantile(lon, cuts)
        column = np.searchsorted(west, lon, side="right")
        # Where many reports come from one place a column may be empty: it is cut as the whole city is.
        own = [lat[column == c] if (column == c).any() else lat for c in range(across)]
        return cls(across, west, np.array([np.quantile(values, cuts) for values in own]).reshape(across, across - 1))

    def __len__(self) -> int:
        return self.across**2

    def of(self, lon: Floats, lat: Floats) -> Longs:
        """The area of each position."""
        column = np.searchsorted(self.west_edges, lon, side="right")
        row = (self.south_edges[column] <= lat[:, None]).sum(axis=1)
        return np.asarray(column * self.across + row, dtype=np.int64)
