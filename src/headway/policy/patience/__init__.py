"""Until when do we wait for stragglers?"""

from headway.policy.patience.fixed import Fixed, PatiencePolicy

__all__ = ["Fixed", "PatiencePolicy"]
