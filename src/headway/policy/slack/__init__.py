"""How long may a tuple wait for those before it? Thresholds (SLTs) of slack gates."""

from headway.policy.slack.rivals import MaxTimestamp, StaticSlack, TcpAdaptation
from headway.policy.slack.tuner import SLTuner
from headway.policy.slack.view import SlackPolicy, SlackSeen, SLTs

__all__ = ["MaxTimestamp", "SLTs", "SLTuner", "SlackPolicy", "SlackSeen", "StaticSlack", "TcpAdaptation"]
