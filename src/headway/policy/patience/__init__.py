"""Until when do we wait for stragglers?"""

from headway.model.patience import PatiencePolicy
from headway.policy.patience.deadline import Deadline
from headway.policy.patience.fixed import Fixed
from headway.policy.patience.max_delay import MaxDelay
from headway.policy.patience.quantile import Quantile
from headway.policy.patience.slack_gate import SlackGate

__all__ = ["Deadline", "Fixed", "MaxDelay", "PatiencePolicy", "Quantile", "SlackGate"]
