"""What is said between an orchestrator and its callers. `fleet/node/wire.py` is what it says to nodes."""

from dataclasses import dataclass
from typing import Literal

from headway.fleet.moves.contract import UPGRADE_TRIAL
from headway.fleet.moves.record import MOVE_TIMEOUT_MS, OnTimeout
from headway.model.time import WallMs

SCHEMA = 1
Wanted = Literal["submit", "move", "upgrade", "stop", "drain"]


@dataclass(frozen=True, slots=True)
class SubmitWanted:
    """A new query of a pipeline file, whose text comes along: nodes run the copy that the fleet keeps."""

    id: str
    query: str
    file: str  # its name, for people
    text: str
    node: str | None = None  # where it begins, if that matters
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True)
class MoveWanted:
    """A query shall go to another node. Asked again with the same id, it is asked once."""

    id: str
    query: str
    node: str
    timeout_ms: int = MOVE_TIMEOUT_MS
    on_timeout: OnTimeout = "rollback"
    partitions: int | None = None  # over how many its state is spread on the way
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True)
class UpgradeWanted:
    """A query shall run with other code, on the node that it is on; it goes home if its first batches fail."""

    id: str
    query: str
    file: str
    text: str
    timeout_ms: int = MOVE_TIMEOUT_MS
    on_timeout: OnTimeout = "rollback"
    trial: int = UPGRADE_TRIAL
    partitions: int | None = None
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True)
class StopWanted:
    """A query shall end, and not be started again; with `forget` its checkpoints are deleted, too."""

    id: str
    query: str
    forget: bool = False
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True)
class DrainWanted:
    """A node shall host nothing, or shall take queries again."""

    node: str
    undo: bool = False
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True)
class AskReceipt:
    """Whether something is under way, or why not."""

    accepted: bool
    line: str
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True)
class MoveProgress:
    """How a move stands."""

    state: Literal["under way", "done", "undone", "home", "unknown"]
    line: str
    outage_ms: int | None = None  # for how long the query was out of service, once that is known
    parts_ms: dict[str, float] | None = None
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True)
class NodeStanding:
    """A node, as the orchestrator knows it."""

    name: str
    address: str
    state: str  # serving, draining, drained, silent
    age_ms: int | None  # of its last status; None: none has come
    queries: int = 0
    load: float | None = None  # load average per core
    heap: float | None = None
    use: float | None = None  # cores that its queries are expected to need, on average of the next three minutes


@dataclass(frozen=True, slots=True)
class QueryStanding:
    """A query of the fleet."""

    name: str
    pipeline: str
    revision: int
    phase: str
    node: str | None
    epoch: int
    move: str | None = None  # how a move of it stands
    ended: str | None = None  # how the last one has ended
    state: str | None = None  # by its node's word
    batches: int | None = None
    rows_per_s: float | None = None
    latency_ms: int | None = None
    backlog: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class FleetStanding:
    """The whole fleet at one moment. A secondary knows the nodes, but not the queries."""

    orchestrator: str
    primary: bool
    leader: str | None  # its name and address
    at: WallMs
    nodes: tuple[NodeStanding, ...] = ()
    queries: tuple[QueryStanding, ...] = ()
    schema: int = SCHEMA
