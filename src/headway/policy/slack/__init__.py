"""How long may a tuple wait for those before it? Thresholds (SLTs) of slack gates."""

from headway.model.slack import SlackPolicy, SlackSeen, SLTs
from headway.policy.slack.rivals import MaxTimestamp, StaticSlack, TcpAdaptation
from headway.policy.slack.tuner import SLTuner

__all__ = ["MaxTimestamp", "SLTs", "SLTuner", "SlackPolicy", "SlackSeen", "StaticSlack", "TcpAdaptation"]
