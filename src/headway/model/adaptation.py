"""On which sites do the stages of a pipeline run, with how many tasks, and by which plan? What is seen, decided, remembered.

One question for each pipeline, asked by the controller of a wide area every 40 s or so.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from headway.model.area import Area
from headway.model.geo import Deployment, GeoPlan
from headway.model.time import WallMs

LONG_AGO = WallMs(0)
Technique = Literal["re-assign", "scale-up", "scale-out", "scale-down", "re-plan", "degrade"]


@dataclass(frozen=True, slots=True)
class StageRates:
    """Rows a second of one stage since the last round, over all of its tasks."""

    stage: str
    arrived: float  # at its sites
    processed: float
    emitted: float  # by a source: what the world sends, whether it is taken or not
    waiting: float = 0.0  # rows that wait for it, on the way and at its sites
    strained_ms: int = 0  # for how long it has not kept up with what is sent to it
    calm_ms: int = 0  # for how long it has


@dataclass(frozen=True, slots=True)
class PastChange:
    """What was carried out, so that a guard can see what goes to and fro. The plan: its stage is empty."""

    at: WallMs
    stage: str
    technique: Technique
    before: tuple[int, ...]  # tasks by site
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AreaView:
    """One pipeline, the sites and links it may use, and what was measured of both."""

    now: WallMs
    pipeline: str
    area: Area  # its slots: those that are free or taken by this pipeline
    plan: GeoPlan
    deployed: Deployment
    rates: tuple[StageRates, ...]  # in the order of the plan
    alternatives: tuple[GeoPlan, ...] = ()  # other plans with the same results
    changing: bool = False  # a change is under way
    changed_at: WallMs = LONG_AGO  # when the last one was over
    past: tuple[PastChange, ...] = ()  # the newest last
    degrading: bool = False  # rows that are too late are dropped now
    may_degrade: bool = False  # the user has allowed that


@dataclass(frozen=True, slots=True)
class StateMove:
    """State of a stage that goes from site to site."""

    stage: str
    source: str
    target: str
    megabytes: float
    seconds: float  # at the bandwidth that is known


@dataclass(frozen=True, slots=True)
class ExpectedEffect:
    """What a change should bring, so that a later round can judge it."""

    stage: str
    at_least: float  # rows a second that it processes
    by: WallMs
    takes_s: float = 0.0  # t_adapt: out of service while its state moves
    network_ms: float = 0.0  # over all edges of the plan, the mean latency of each
    usd_h: float = 0.0  # for what goes over the wide area
    gap: float | None = None  # by how much the placement may be worse than the best; None: not known


@dataclass(frozen=True, slots=True)
class OfOneStage:
    """Where the tasks of one stage are from now on."""

    stage: str
    deployed: Deployment  # of the whole plan
    because: str
    moves: tuple[StateMove, ...] = ()
    expect: ExpectedEffect | None = None


@dataclass(frozen=True, slots=True)
class Reassign(OfOneStage):
    """As many tasks of a stage as before, at other sites."""


@dataclass(frozen=True, slots=True)
class ScaleUp(OfOneStage):
    """More tasks of a stage, at sites where it is."""


@dataclass(frozen=True, slots=True)
class ScaleOut(OfOneStage):
    """More tasks of a stage, at further sites too."""


@dataclass(frozen=True, slots=True)
class ScaleDown(OfOneStage):
    """A task less of a stage."""


@dataclass(frozen=True, slots=True)
class Replan:
    """Another plan, or the same one placed anew as a whole."""

    plan: GeoPlan
    deployed: Deployment
    because: str
    at_window_end: bool = False  # its state cannot be carried over: it changes when the windows end
    moves: tuple[StateMove, ...] = ()
    expect: ExpectedEffect | None = None


class NowhereElse:
    """All tasks stay where they are."""

    __slots__ = ()
    deployed: ClassVar[None] = None
    moves: ClassVar[tuple[StateMove, ...]] = ()
    expect: ClassVar[None] = None


@dataclass(frozen=True, slots=True)
class Degrade(NowhereElse):
    """From now on rows later than this are dropped; None: no row is dropped any more."""

    later_than_ms: int | None
    because: str


@dataclass(frozen=True, slots=True)
class Keep(NowhereElse):
    """Nothing changes."""

    because: str


Placed = Reassign | ScaleUp | ScaleOut | ScaleDown | Replan
AdaptationDecision = Placed | Degrade | Keep


def technique_of(decided: Placed | Degrade) -> Technique:
    match decided:
        case Reassign():
            return "re-assign"
        case ScaleUp():
            return "scale-up"
        case ScaleOut():
            return "scale-out"
        case ScaleDown():
            return "scale-down"
        case Replan():
            return "re-plan"
    return "degrade"


@dataclass(frozen=True, slots=True)
class Awaited:
    """A change that was decided, until it is judged."""

    technique: Technique
    expect: ExpectedEffect


@dataclass(frozen=True, slots=True)
class AdaptationMemory:
    """What is expected of the last change, and what has not helped since all was well."""

    awaited: Awaited | None = None
    in_vain: tuple[tuple[str, Technique], ...] = ()  # stage and technique
    says: str = ""  # how the last change was judged


class AdaptationPolicy(Protocol):
    """The same view and memory give the same answer."""

    def decide(self, seen: AreaView, memory: AdaptationMemory) -> tuple[AdaptationDecision, AdaptationMemory]: ...
