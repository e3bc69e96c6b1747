"""Congestion in a city: where buses and road sensors both report trouble, in windows of 5 s every second.

The application of Zacheilas et al. (DEBS 2017), who joined Dublin's buses with its SCATS road sensors, area by area. The
real streams here are of three cities (`city`); a generator (`Streets`) makes reports at any rate, whose buses fall behind as
theirs did.
"""

from headway_lab.workloads.traffic.areas import Areas
from headway_lab.workloads.traffic.city import aarhus, austin, dublin, one_city
from headway_lab.workloads.traffic.queries import buses, congestion, roads
from headway_lab.workloads.traffic.reports import Troubles, troubles
from headway_lab.workloads.traffic.streets import Streets, held_up
from headway_lab.workloads.traffic.truth import found

__all__ = [
    "Areas", "Streets", "Troubles", "aarhus", "austin", "buses", "congestion", "dublin", "found", "held_up", "one_city",
    "roads", "troubles",
]  # fmt: skip
