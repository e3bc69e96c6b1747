"""What an orchestrator is told, and what it orders."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.fleet.moves.contract import MoveContract
from headway.fleet.moves.messages import Instruction, Receipt
from headway.fleet.moves.record import QueryRecord

# ---- what it is told


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


@dataclass(frozen=True, slots=True)
class Elected:
    """It is the primary. The number grows with every election; the store refuses what is ordered under a lower one."""

    leader: int


@dataclass(frozen=True, slots=True)
class TermOver:
    """It is the primary no more, or cannot be sure of it: its session with the store is suspended, lost, or was refused."""


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record as the store has it."""

    record: QueryRecord
    version: int  # grows by one with every write of it


@dataclass(frozen=True, slots=True)
class RecordsRead:
    """All that the store has, for the primary of this number."""

    leader: int
    records: tuple[StoredRecord, ...]


@dataclass(frozen=True, slots=True)
class RecordRead:
    leader: int
    query: str
    stored: StoredRecord | None


@dataclass(frozen=True, slots=True)
class RecordWritten:
    """The store has what was ordered with this number."""

    leader: int
    query: str
    number: int
    version: int


@dataclass(frozen=True, slots=True)
class WriteRefused:
    """The record was not of the version that was expected."""

    leader: int
    query: str
    number: int


@dataclass(frozen=True, slots=True)
class LeaseBarred:
    """No node holds the lease on this query, and none can take it under this epoch or a lower one."""

    leader: int
    query: str
    epoch: int


@dataclass(frozen=True, slots=True)
class LeaseStillHeld:
    """By a session that lives, or that has not been silent for long enough."""

    leader: int
    query: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Members:
    """The nodes that have a session with the store."""

    nodes: frozenset[str]


@dataclass(frozen=True, slots=True)
class HostedIncarnation:
    """An incarnation that a node says it hosts."""

    epoch: int
    commits: int = 0


@dataclass(frozen=True, slots=True)
class NodeReport:
    """A node's status, as far as placing and moving need it."""

    node: str
    boot: int  # grows with every start of the node
    number: int  # within a boot: reports may overtake each other
    hosted: Mapping[str, HostedIncarnation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NodeAnswered:
    """A receipt for an instruction."""

    node: str
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class MoveAsked:
    """A user or the policy wants a query elsewhere. To ask again with the same id is to ask once."""

    id: str
    query: str
    target: str
    because: str
    contract: MoveContract = MoveContract()
    pipeline: str | None = None  # another file than now: an upgrade, also on the same node


@dataclass(frozen=True, slots=True)
class QuerySubmitted:
    """A new query, or one that was stopped. Without a node it goes where the placer says."""

    id: str
    query: str
    pipeline: str
    node: str | None = None


@dataclass(frozen=True, slots=True)
class StopAsked:
    """A query shall end, and not be started again. Asked twice, it is asked once."""

    id: str
    query: str
    forget: bool = False  # its checkpoints are deleted, too


OfATerm = RecordsRead | RecordRead | RecordWritten | WriteRefused | LeaseBarred | LeaseStillHeld  # of one leader's
CoreMessage = (
    Tick | Elected | TermOver | OfATerm | Members | NodeReport | NodeAnswered | MoveAsked | QuerySubmitted | StopAsked
)  # fmt: skip


# ---- what it orders


@dataclass(frozen=True, slots=True)
class ToNode:
    node: str
    instruction: Instruction


@dataclass(frozen=True, slots=True)
class ReadRecords:
    """All records, and nothing that is older than the election."""

    leader: int


@dataclass(frozen=True, slots=True)
class ReadRecord:
    leader: int
    query: str


@dataclass(frozen=True, slots=True)
class WriteRecord:
    """If the record has the version that is expected (None: is not there), and `leader` is the newest number."""

    leader: int
    record: QueryRecord
    expected: int | None
    number: int  # of this order: its answer has it, too


@dataclass(frozen=True, slots=True)
class BarLease:
    """If no node holds the lease on this query, see to it that none can take it under this epoch. At one stroke."""

    leader: int
    query: str
    epoch: int


@dataclass(frozen=True, slots=True)
class AskAnswered:
    """To the caller that asked for something: whether it is done or under way, and if not, why."""

    id: str
    accepted: bool
    line: str


@dataclass(frozen=True, slots=True)
class Said:
    """For the journal."""

    query: str
    text: str


ToStore = ReadRecords | ReadRecord | WriteRecord | BarLease
Ordered = ToNode | ToStore | AskAnswered | Said
