"""On which node does a query run? What is seen of nodes and queries, what may be decided, and what is remembered.

It is two questions. A node asks itself which of its computations should move away (`request`); the orchestrator says what
becomes of all requests of one round, and where new queries start (`placement`). A *computation* is a streaming query, a
*node* a Spark application.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from headway.model.ring import Ring, Rings
from headway.model.time import WallMs

NEVER = WallMs(0)  # as a moment until which something lasts: it is over


@dataclass(frozen=True, slots=True)
class ComputationView:
    """One computation and the load that is forecast for it. Its ring is not divided by anything of its node."""

    name: str
    ring: Ring


@dataclass(frozen=True, slots=True)
class Computations:
    """Many computations as a table: the name of row i is `names[i]`, its ring `rings[i]`, its node `homes[i]`."""

    names: tuple[str, ...]
    rings: Rings
    homes: tuple[str, ...] = ()  # empty where all are on one node, which the context names

    def __post_init__(self) -> None:
        if len(self.names) != len(self.rings) or (self.homes and len(self.homes) != len(self.names)):
            raise ValueError(f"{len(self.names)} names for {len(self.rings)} rings and {len(self.homes)} homes")

    def __getitem__(self, row: int) -> ComputationView:
        return ComputationView(self.names[row], self.rings[row])

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as its last status tells of it. Unknown external load is told as none: `own_load` and `own_bandwidth` 1."""

    name: str
    ring: Ring  # the sum of its computations, not normalised
    cores: float = 1.0
    load: float = 0.0  # load average of the last minute / cores
    own_load: float = 1.0  # share of that load which the node itself causes, 0..1
    foreign: float = 0.0  # load that other programs cause / cores, over the last seconds: a load average forgets slowly
    bandwidth: float = 0.0  # in use, as a share of the preferred upper limit: more than 1 is an excess
    own_bandwidth: float = 1.0  # share of that use which the node itself causes, 0..1
    cooling_until: WallMs = NEVER  # it took part in a move: nothing moves to it or from it before this
    queries: int = 0  # running or on their way to it
    ready: bool = True  # its status is fresh and it takes queries: not draining, not going down
    moving: bool = False  # a move to it or from it is under way


@dataclass(frozen=True, slots=True)
class HostView:
    """What a node sees of itself when it asks which computation should move."""

    now: WallMs
    node: NodeView
    computations: Computations
    resting: Mapping[str, WallMs] = field(default_factory=dict)  # refused computations, and until when they do not ask


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """A node would like to be rid of this query. It travels with the node's status."""

    query: str
    node: str
    ring: Ring
    score: float  # interference that it meets where it is: I_c


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A query that runs nowhere yet. Its ring is a guess, or None where nothing is known of it."""

    query: str
    ring: Ring | None = None


@dataclass(frozen=True, slots=True)
class FleetView:
    """All nodes, what they ask for, and the queries that have no node yet."""

    now: WallMs
    nodes: tuple[NodeView, ...]
    requests: tuple[MoveRequest, ...] = ()  # at most one a node
    newcomers: tuple[Newcomer, ...] = ()
    resting: Mapping[str, WallMs] = field(default_factory=dict)
    # Every query with its home, only for a policy that `foresees`. In the simulator these are the true future rates.
    computations: Computations | None = None

    def node(self, name: str) -> NodeView | None:
        return next((node for node in self.nodes if node.name == name), None)


@dataclass(frozen=True, slots=True)
class ExpectedRelief:
    """What a move should bring, so that a later round can judge it: the interference there and the reduction in percent."""

    score: float
    reduction: float  # 0.2: a fifth less than where it is now
    threshold: float  # that the reduction had to exceed


@dataclass(frozen=True, slots=True)
class Move:
    """This query goes from node to node. Both then cool down until `cool_until`."""

    query: str
    source: str
    target: str
    because: str
    expect: ExpectedRelief | None = None
    cool_until: WallMs = NEVER


@dataclass(frozen=True, slots=True)
class Refuse:
    """This query stays where it is, or waits for a node, and does not ask again before `rest_until`."""

    query: str
    because: str
    rest_until: WallMs = NEVER


@dataclass(frozen=True, slots=True)
class Start:
    """A new query begins on this node."""

    query: str
    target: str
    because: str


Choice = Start | Move | Refuse


@dataclass(frozen=True, slots=True)
class Placements:
    """What becomes of everything that was asked in one round. No two choices are about one query."""

    choices: tuple[Choice, ...]
    because: str


@dataclass(frozen=True, slots=True)
class Stay:
    """Nothing moves."""

    because: str


@dataclass(frozen=True, slots=True)
class RequestMove:
    """The node asks that this computation may move."""

    request: MoveRequest
    because: str


RequestDecision = RequestMove | Stay
PlacementDecision = Placements | Stay


@dataclass(frozen=True, slots=True)
class RequestMemory:
    """For how many rounds in a row each computation has been above the threshold. Those that were not are not in it."""

    above: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlacementMemory:
    """What a policy remembers. What was carried out is in the views too, so a successor without memory is no worse."""

    cooling: Mapping[str, WallMs] = field(default_factory=dict)  # node -> until
    resting: Mapping[str, WallMs] = field(default_factory=dict)  # query -> until
    turn: int = 0  # for policies that take nodes in turn
    plan: Mapping[str, str] = field(default_factory=dict)  # query -> node, for policies that plan ahead
    planned_at: WallMs | None = None


class RequestPolicy(Protocol):
    """The node's half: which of my computations asks to move?"""

    def request(self, seen: HostView, memory: RequestMemory) -> tuple[RequestDecision, RequestMemory]: ...


class PlacementPolicy(RequestPolicy, Protocol):
    """Both halves. The same view and memory give the same answer."""

    @property
    def foresees(self) -> bool:
        """Whether its view must hold every computation, not only those that ask."""
        ...

    def decide(self, seen: FleetView, memory: PlacementMemory) -> tuple[PlacementDecision, PlacementMemory]: ...
