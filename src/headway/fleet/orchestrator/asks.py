"""What people and programs have asked for, until it is answered. An answer is given when the store has it, not before."""

from dataclasses import replace

from headway.fleet.moves.contract import STOP, standing
from headway.fleet.moves.protocol import ask, launch, refusal, stop, submitted_again
from headway.fleet.moves.record import MoveRecord, Phase, QueryRecord, Revision
from headway.fleet.orchestrator.known_nodes import KnownNodes
from headway.fleet.orchestrator.launching import Launching
from headway.fleet.orchestrator.messages import AskAnswered, MoveAsked, QuerySubmitted, StopAsked
from headway.model.time import WallMs

Asking = MoveAsked | QuerySubmitted | StopAsked
NOT_PRIMARY = "this orchestrator is not the primary: ask the other one"


class OpenAsks:
    """By query, in the order in which they came."""

    def __init__(self, nodes: KnownNodes, launching: Launching) -> None:
        self._nodes, self._launching = nodes, launching
        self._open: dict[str, list[Asking]] = {}

    def add(self, asked: Asking) -> None:
        waiting = self._open.setdefault(asked.query, [])
        if all(one.id != asked.id for one in waiting):
            waiting.append(asked)

    @property
    def queries(self) -> list[str]:
        return list(self._open)

    def first(self, query: str) -> Asking | None:
        waiting = self._open.get(query)
        return waiting[0] if waiting else None

    def drop_all(self) -> list[AskAnswered]:
        """Whether they were written is for the successor to say: a caller that asks it with the same id is told."""
        answers = [AskAnswered(one.id, False, NOT_PRIMARY) for waiting in self._open.values() for one in waiting]
        self._open.clear()
        return answers

    def done(self, query: str) -> None:
        self._open[query].pop(0)
        if not self._open[query]:
            del self._open[query]

    def consider(self, asked: Asking, record: QueryRecord | None, now: WallMs) -> AskAnswered | QueryRecord | None:
        """The answer; or the record to be written, after which it is answered; or None: nothing can be said yet."""
        if not self._nodes.listed:
            return None
        if isinstance(asked, QuerySubmitted):
            return self._submitted(asked, record, now)
        if isinstance(asked, StopAsked):
            return _stop(asked, record, now)
        known = None if record is None else _of_move(record, asked.id)
        if known is not None:
            return AskAnswered(asked.id, True, known)
        move = self._move(asked, record, now)
        why = refusal(record, move, asked.query)
        if why is None and move.target not in self._nodes.members:
            why = (
                f"move.node = {move.target!r}: expected one of {', '.join(sorted(self._nodes.members)) or 'no node at all'}"
            )
        if record is None or why is not None:
            return AskAnswered(asked.id, False, why or "")
        return ask(record, move)

    def _move(self, asked: MoveAsked, record: QueryRecord | None, now: WallMs) -> MoveRecord:
        revision = Revision("") if record is None else record.revision
        if asked.pipeline is not None:
            revision = replace(revision, pipeline=asked.pipeline, number=revision.number + 1)
        source = "" if record is None or record.node is None else record.node
        return asked.contract.move(asked.id, source, asked.target or source, revision, asked.because, now)

    def _submitted(self, asked: QuerySubmitted, record: QueryRecord | None, now: WallMs) -> AskAnswered | QueryRecord | None:
        if record is not None and asked.id in record.past:
            return AskAnswered(asked.id, True, f"{asked.query} is {record.phase}")
        again = record is not None and record.phase is Phase.STOPPED
        if record is not None and not again:
            if record.stop is not None:
                return AskAnswered(asked.id, False, f"submit.query = {asked.query!r}: it is being stopped: wait for its end")
            if record.revision.pipeline == asked.pipeline:
                return AskAnswered(asked.id, True, f"{asked.query} is {record.phase}")
            want = f"a name that no query has; one of {record.revision.pipeline} has it (`fleet upgrade` changes its code)"
            return AskAnswered(asked.id, False, f"submit.query = {asked.query!r}: expected {want}")
        if asked.node is not None and asked.node not in self._nodes.members:
            return AskAnswered(asked.id, False, f"submit.node = {asked.node!r}: expected a node of this fleet")
        node = self._launching.place(asked.query, now, asked.node)
        if node is None:
            return None
        new = QueryRecord(asked.query, Revision(asked.pipeline), past=(asked.id,))
        begun = submitted_again(record, asked.id, asked.pipeline) if record is not None and again else new
        return launch(begun, node, begun.revision)


def _stop(asked: StopAsked, record: QueryRecord | None, now: WallMs) -> AskAnswered | QueryRecord:
    if record is None:
        return AskAnswered(asked.id, False, f"stop.query = {asked.query!r}: expected a query of this fleet")
    if asked.id in record.past or (record.stop is not None and (record.stop.forget or not asked.forget)):
        return AskAnswered(asked.id, True, standing(record, STOP).line)
    return stop(record, asked.id, asked.forget, now)


def _of_move(record: QueryRecord, id: str) -> str | None:
    """What is known of a move that was accepted before."""
    if record.move is not None and record.move.id == id:
        return f"{record.query} is being moved to {record.move.target}"
    if record.ended is not None and record.ended.id == id:
        return f"{record.query}: that move has ended: {record.ended.outcome}"
    return f"{record.query}: that move has ended long ago" if id in record.past else None
