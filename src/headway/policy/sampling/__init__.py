"""How much of a stream is enough for an answer, and how long is it waited for?"""

from headway.model.sampling import SamplingPolicy
from headway.policy.sampling.aion import Aion
from headway.policy.sampling.aion_minus import AionMinus
from headway.policy.sampling.aq_k_slack import AQKSlack
from headway.policy.sampling.everything import Everything

__all__ = ["AQKSlack", "Aion", "AionMinus", "Everything", "SamplingPolicy"]
