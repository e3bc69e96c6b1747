"""On which sites do the stages of a pipeline run, with how many tasks, by which plan?"""

from headway.policy.adaptation.degrade_only import DegradeOnly
from headway.policy.adaptation.no_adapt import NoAdapt
from headway.policy.adaptation.reassign_only import ReassignOnly
from headway.policy.adaptation.replan_only import ReplanOnly
from headway.policy.adaptation.scale_only import ScaleOnly
from headway.policy.adaptation.wasp import Wasp

__all__ = ["DegradeOnly", "NoAdapt", "ReassignOnly", "ReplanOnly", "ScaleOnly", "Wasp"]
