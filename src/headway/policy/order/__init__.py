"""Whose micro-batch runs next?"""

from headway.policy.order.baselines import FirstCome, HighestRate, RoundRobin, StreamBox
from headway.policy.order.gateless import FairPools, FixedTrigger, Stock
from headway.policy.order.klink import Klink

__all__ = ["FairPools", "FirstCome", "FixedTrigger", "HighestRate", "Klink", "RoundRobin", "Stock", "StreamBox"]
