"""The one place where the two languages of the fleet meet: what a move calls for, and what is said to a node over the wire.

A move speaks of records, folders and moves (`fleet/moves/messages.py`); a node knows commands about checkpoints, and their
receipts (`fleet/node/wire.py`). Everything here is pure. Where one language has a word that the other lacks, that is said
beside it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from headway.fleet.moves.messages import (
    CannotRun,
    Copied,
    DeleteFolders,
    Drained,
    DrainQuery,
    EndQuery,
    FoldersDeleted,
    Instruction,
    Outdated,
    Prepare,
    Prepared,
    Receipt,
    ResumeQuery,
    RunFailed,
    Running,
    StartQuery,
    TakeOver,
    WentOn,
)
from headway.fleet.moves.moment import DrainMoment
from headway.fleet.moves.record import QueryRecord, folder_of
from headway.fleet.node.wire import CommandReceipt, NodeCommand, NodeStatus
from headway.fleet.orchestrator.messages import HostedIncarnation, NodeReport
from headway.model.experience import Experience

BATCH_MS = 60_000  # for the batch that runs when its query is drained: then it is broken off, and the next one runs it again
NOT_RUNNING = ("prepared", "taken", "drained", "failed", "ended")  # what a node may say of a query that it does not run
OUTDATED_SCHEMA, UNKNOWN, WRONG_TOKEN = 409, 404, 401  # how a node refuses to listen


@dataclass(frozen=True, slots=True)
class QueryContext:
    """What an instruction leaves to the record that it follows from, and to what the last incarnation has told."""

    places: str  # the folder of all checkpoints
    next_epoch: int = 1
    lineage: tuple[str, ...] = ()
    drained: CommandReceipt | None = None  # what the node has told that drained it last
    moment: DrainMoment = DrainMoment()

    @classmethod
    def of(
        cls,
        record: QueryRecord,
        places: str,
        drained: CommandReceipt | None = None,
        moment: DrainMoment = DrainMoment(),  # noqa: B008
    ) -> "QueryContext":
        here = () if record.here is None else (record.here.folder,)
        return cls(places, record.top + 1, tuple(dict.fromkeys((*record.lineage, *here))), drained, moment)

    @property
    def experience(self) -> Experience | None:
        """Of the query, as far as it was told."""
        return None if self.drained is None else self.drained.experience

    def drained_at(self, epoch: int) -> int | None:
        """The last batch of that incarnation, which must be in what the next one takes over; None if it is not known."""
        return self.drained.batch if self.drained is not None and self.drained.epoch == epoch else None

    def place(self, folder: str) -> str:
        return f"{self.places}/{folder}"

    def all_places(self, folders: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(self.place, folders))


def command_of(told: Instruction, request: str, context: QueryContext) -> NodeCommand:
    """An instruction as a node understands it."""
    query, version = told.query, told.version
    match told:
        case Prepare(revision=revision, partitions=partitions):
            # A node prepares an incarnation; a move only says of which query. It is the next one.
            return NodeCommand(
                request, "prepare", query, context.next_epoch, version=version, file=revision.pipeline,
                folder=context.place(folder_of(query, context.next_epoch)), origins=context.all_places(context.lineage),
                partitions=partitions,
            )  # fmt: skip
        case DrainQuery(epoch=epoch, next_epoch=raised, at_once=at_once):
            moment = context.moment.at_once if at_once else context.moment
            return NodeCommand(
                request, "drain", query, epoch, version=version, next_epoch=raised, timeout_ms=0 if at_once else BATCH_MS,
                slack_ms=moment.slack_ms, patience_ms=moment.patience_ms,
            )  # fmt: skip
        case ResumeQuery(epoch=epoch):
            return NodeCommand(request, "resume", query, epoch, version=version)
        case TakeOver(epoch=epoch, revision=revision, folders=folders, folder=folder, partitions=partitions):
            # By force: that no other node runs it is what the fleet's own lease says, not the one of an earlier folder.
            take = NodeCommand(
                request, "take", query, epoch, version=version, file=revision.pipeline, folder=context.place(folder),
                origins=context.all_places(folders), batch=context.drained_at(epoch - 1), force=True, partitions=partitions,
            )  # fmt: skip
            return take if told.commits is None else replace(take, action="start", experience=context.experience)
        case StartQuery(epoch=epoch):
            return NodeCommand(request, "start", query, epoch, version=version, experience=context.experience)
        case EndQuery(epoch=epoch, at_once=at_once):
            return NodeCommand(request, "stop", query, epoch, version=version, timeout_ms=0 if at_once else BATCH_MS)
        case DeleteFolders(folders=folders):
            # A node deletes what is older than an epoch: than the next one, which no node has yet.
            return NodeCommand(
                request, "clean", query, context.next_epoch, version=version, origins=context.all_places(folders)
            )  # fmt: skip


def receipt_of(told: Instruction, answer: CommandReceipt) -> Receipt | None:
    """What the node's answer means for the move; None: nothing, so that the instruction is given again."""
    if answer.outdated_by is not None:
        return Outdated(told.query, answer.outdated_by)
    match told:
        case Prepare(query=query, move=move):
            return Prepared(query, move) if answer.done else CannotRun(query, move, answer.because)
        case DrainQuery(query=query, move=move, epoch=epoch):
            return Drained(query, move, epoch) if answer.done else None
        case ResumeQuery(query=query, move=move, epoch=epoch):
            return WentOn(query, move, epoch) if answer.done else Drained(query, move, epoch)
        case TakeOver(query=query, epoch=epoch, commits=None):
            return Copied(query, epoch) if answer.done else RunFailed(query, epoch, answer.because)
        case TakeOver(query=query, epoch=epoch) | StartQuery(query=query, epoch=epoch):
            # How many batches it has committed is in the node's next statuses.
            return Running(query, epoch, 0) if answer.done else RunFailed(query, epoch, answer.because)
        case EndQuery(query=query, epoch=epoch):
            return RunFailed(query, epoch, "it was told to end") if answer.done else None
        case DeleteFolders(query=query, folders=folders):
            return FoldersDeleted(query, folders) if answer.done else None


def refusal_of(told: Instruction, node: str, code: int, line: str) -> Receipt | None:
    """The same where the node would not even listen."""
    if code == WRONG_TOKEN:
        line = f"{node} does not know our token"
    match told:
        case Prepare(query=query, move=move):
            return CannotRun(query, move, line)
        case TakeOver(query=query, epoch=epoch) | StartQuery(query=query, epoch=epoch) if code != WRONG_TOKEN:
            return RunFailed(query, epoch, line)
        case (
            DrainQuery(query=query, epoch=epoch) | ResumeQuery(query=query, epoch=epoch) | EndQuery(query=query, epoch=epoch)
        ) if code == UNKNOWN:
            return RunFailed(query, epoch, f"{node} does not know it")
    return None


def report_of(status: NodeStatus, boot: int) -> NodeReport:
    """A status, as far as placing and moving need it."""
    hosted = {q.name: HostedIncarnation(q.epoch, q.commits) for q in status.queries if q.state not in NOT_RUNNING}
    return NodeReport(status.node, boot, status.sequence, hosted)


def receipts_in(status: NodeStatus) -> Iterator[Receipt]:
    """What a status says that a move waits to hear: which queries have committed, and which have failed."""
    for query in status.queries:
        if query.state == "failed":
            yield RunFailed(query.name, query.epoch, query.error or "it has failed, and does not say why")
        elif query.state not in NOT_RUNNING and query.commits:
            yield Running(query.name, query.epoch, query.commits)
