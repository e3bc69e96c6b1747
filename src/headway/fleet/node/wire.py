"""What is said between a node and its callers: commands, receipts, and how the node stands.

Every body carries the version of this schema, and one of another version is refused before anything else in it is looked at.
A command has the id of its request: asked twice, it is done once, and the second answer is the first one again.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal, get_args

from headway.errors import HeadwayError
from headway.fleet.node.text import Malformed, made
from headway.model.experience import Experience
from headway.model.status import State
from headway.model.time import EventMs, WallMs

SCHEMA = 1
Action = Literal["prepare", "take", "start", "drain", "resume", "stop", "abandon", "clean"]
ACTIONS: tuple[Action, ...] = get_args(Action)
HostedState = Literal[State, "prepared", "taken", "drained"]


class OtherSchema(HeadwayError):
    """Said in another version of the schema than ours."""


@dataclass(frozen=True, slots=True)
class NodeCommand:
    """What a node is to do about one query. What an action does not need is left out.

    `prepare` builds and analyses the plan of `file`, and copies what of `origins` may be copied already.
    `take` raises the epoch where the sink keeps it, and makes `folder` out of the newest complete one of `origins`.
    With `partitions`, `prepare` looks whether the state can be spread over so many, and `take` does it, in `folder`.
    `start` does what of both has not been done, and then starts the query.
    `drain` ends it between two batches; `next_epoch`, if it is said, is then raised where the sink keeps it.
    `resume` asks whether it was not drained, and goes on.
    `stop` ends it, between two batches if `timeout_ms` is enough for that, and forgets it.
    `abandon` forgets one that was never started.
    `clean` deletes `origins`, which are folders of incarnations that are over.
    """

    request: str
    action: Action
    query: str
    epoch: int
    schema: int = SCHEMA
    version: int | None = None  # of the record that this follows from: older ones than were obeyed are refused
    file: str | None = None  # the pipeline file, as the node finds it
    digest: str | None = None  # sha256 of it, if it must be this very version
    folder: str | None = None  # the checkpoint of this incarnation
    origins: tuple[str, ...] = ()  # checkpoints of earlier ones, oldest first
    batch: int | None = None  # that must be committed in what is taken over, as the drain's receipt has said
    force: bool = False  # even if another process still holds the lease of what is taken over
    partitions: int | None = None  # over how many the state is to be spread on the way
    next_epoch: int | None = None
    timeout_ms: int = 60_000  # for the batch that runs
    slack_ms: int = 0  # a drain waits until the next batch is not wanted before so long,
    patience_ms: int = 10_000  # but for no longer than this
    experience: Experience | None = None


@dataclass(frozen=True, slots=True)
class CommandReceipt:
    """What came of a command. `done` false is an answer, too: nothing has changed, and `because` says why."""

    request: str
    action: Action
    query: str
    epoch: int
    done: bool
    because: str
    at: WallMs
    schema: int = SCHEMA
    outdated_by: int | None = None  # the version of the record that was obeyed instead
    parts_ms: dict[str, float] | None = None  # what took how long
    folder: str | None = None
    batch: int | None = None  # the last one that is committed
    stood_at: WallMs | None = None  # when it was at its gate, and no further batch was let through
    watermark: EventMs | None = None
    fenced: bool | None = None  # whether the sink keeps an epoch, which is raised now
    copied_bytes: int | None = None
    experience: Experience | None = None


@dataclass(frozen=True, slots=True)
class HostedQuery:
    """One query of a node."""

    name: str
    epoch: int
    state: HostedState
    since: WallMs
    folder: str | None = None
    file: str | None = None
    error: str | None = None
    commits: int = 0  # batches of this incarnation
    batch: int | None = None  # the number of the last
    rows: int = 0  # that they have read
    busy_ms: int = 0  # and how long they took
    rows_per_s: float = 0.0  # as they come
    fixed_ms: float | None = None  # of a batch,
    ms_per_row: float | None = None  # and what each row adds
    bytes_per_row: float | None = None  # by the schema of its inputs
    watermark: EventMs | None = None  # by which the last batch emitted
    backlog: float | None = None  # rows that wait
    latency_ms: int | None = None  # of the last window: from its end until the batch that emitted it was done
    due: WallMs | None = None  # when its next batch is wanted
    rates: tuple[float, ...] = ()  # rows read, second by second, the newest last
    reads: tuple[str, ...] = ()  # topics that stages of ours write
    writes: str | None = None  # the topic that it relays its results to,
    below_ms: float = 0.0  # what stages behind that cost, as it was told,
    below_at: WallMs | None = None  # and when that was said


@dataclass(frozen=True, slots=True)
class MachineFigures:
    """The machine that a node runs on, and the node's part in it."""

    load_average: float  # of the last minute
    cores: float  # of the machine, or of the container that the node is in
    own_load: float  # the share of the processor time in use that is the node's own, 0 to 1
    bandwidth: float  # bytes per second, in and out
    own_bandwidth: float  # the share of it that the node's rows make up, 0 to 1
    memory: float  # the share of the machine's memory that is in use
    heap: float = 0.0  # the share of the driver's heap
    foreign: float = 0.0  # cores that other programs use, or are held back from, over the last seconds


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """How a node stands. It is the newest for as long as no other has a higher number in the same run of the node."""

    node: str
    run: str  # of this process: after a restart it is another one, and hosts nothing
    version: str  # of Headway
    sequence: int
    at: WallMs
    machine: MachineFigures
    queries: tuple[HostedQuery, ...] = ()
    bandwidth_limit: float | None = None  # bytes per second that are not to be exceeded, as the node was told
    schema: int = SCHEMA


def command_in(text: bytes) -> NodeCommand:
    """Raises Malformed, or OtherSchema."""
    found: NodeCommand = of_schema(NodeCommand, text)
    return found


def receipt_in(text: bytes) -> CommandReceipt:
    found: CommandReceipt = of_schema(CommandReceipt, text)
    return found


def status_in(text: bytes) -> NodeStatus:
    found: NodeStatus = of_schema(NodeStatus, text)
    return found


def of_schema(kind: Any, text: bytes, schema: int = SCHEMA, said: bool = True) -> Any:
    """What a text says, if it is of that schema. One that does not say its schema is refused, unless `said` is false."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed(f"{kind.__name__}: expected JSON") from None
    if not isinstance(raw, dict):
        raise Malformed(f"{kind.__name__}: expected an object")
    if said and "schema" not in raw:
        raise Malformed(f"{kind.__name__}.schema is missing")
    if (found := raw.get("schema", schema)) != schema:
        raise OtherSchema(f"{kind.__name__}.schema = {str(found)[:20]!r}: expected {schema}; update the older side")
    return made(kind, raw)
