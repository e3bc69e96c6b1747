"""What a policy sees of the gates, and what it says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from headway.estimate.slack_curves import Curve
from headway.estimate.slack_reports import Report
from headway.policy.slack.graph import Graph


@dataclass(frozen=True, slots=True)
class SlackSeen:
    """All gates of an application at the end of a period."""

    graph: Graph
    slts: Mapping[str, float]  # milliseconds, as they are set now
    last: Mapping[str, Report] = field(default_factory=dict)  # of the period that ends
    before: Mapping[str, Report] = field(default_factory=dict)  # of the one before it
    worst_gap_ms: Mapping[str, float] = field(default_factory=dict)  # the greatest delay ever seen
    periods: int = 0  # seen so far
    curves: Mapping[str, Curve] | None = None  # for the next period; None while too little is known


@dataclass(frozen=True, slots=True)
class SLTs:
    """A threshold for every operator, and why."""

    ms: Mapping[str, float]
    because: str


class SlackPolicy(Protocol):
    """Sets the thresholds of all gates of an application, once a period."""

    def decide(self, seen: SlackSeen) -> SLTs: ...
