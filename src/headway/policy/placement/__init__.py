"""On which node does a query run, and which one should move?"""

from headway.policy.placement.least_loaded import LeastLoaded
from headway.policy.placement.near_ideal import NearIdeal
from headway.policy.placement.never_move import NeverMove
from headway.policy.placement.prediction_rings import PredictionRings
from headway.policy.placement.random_placement import RandomPlacement
from headway.policy.placement.round_robin import RoundRobinPlacement

__all__ = ["LeastLoaded", "NearIdeal", "NeverMove", "PredictionRings", "RandomPlacement", "RoundRobinPlacement"]
