"""Which query runs its next micro-batch?"""

from headway.policy.order.baselines import FirstCome, HighestRate, RoundRobin, StreamBox
from headway.policy.order.gateless import FairPools, FixedTrigger, Stock
from headway.policy.order.klink import Klink
from headway.policy.order.response_ratio import ResponseRatio

__all__ = [
    "FairPools",
    "FirstCome",
    "FixedTrigger",
    "HighestRate",
    "Klink",
    "ResponseRatio",
    "RoundRobin",
    "Stock",
    "StreamBox",
]
