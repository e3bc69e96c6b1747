"""Why a query is on the node that it is on, out of the journal of an orchestrator."""

from collections.abc import Iterator

from headway.cli.screen import clock
from headway.dashboard.words import readable
from headway.loop.journal import JournalReader
from headway.loop.kernel import Entry
from headway.loop.questions.order import NAME as ORDER
from headway.loop.questions.placement import PLACEMENT, REQUEST
from headway.model.placement import Choice, Move, Placements, Refuse, RequestMove
from headway.model.time import WallMs

MOST_NOTES = 30  # the newest: a move has some fifteen


def fleet_account(journal: JournalReader, query: str, at: WallMs | None = None) -> Iterator[str]:
    """The story of the newest decision about this query, or of the newest by `at`; nothing if there is none, nor a note."""
    if not journal.noted(query) or next(journal.entries(ORDER), None) is not None:  # of a runtime
        return
    found = _newest(journal, query, at)
    notes = [(moment, text) for moment, text in journal.notes(query) if at is None or moment <= at]
    if found is None and not notes:
        return
    yield f"{query} at {clock(WallMs(notes[-1][0]) if found is None else found[0].at, date=True)}"
    if found is None:
        yield "  decided   nothing: a user asked, or its node was lost"
    else:
        yield from _decision(journal, query, *found)
    for moment, text in notes[-MOST_NOTES:]:
        yield f"  note      {clock(WallMs(moment))} {text}"


def _decision(journal: JournalReader, query: str, entry: Entry, choice: Choice) -> Iterator[str]:
    yield f"  decided   {_words(choice)}; {entry.receipt}"
    yield f"  why       {readable(choice.because)}"
    if entry.proposed != entry.decided:
        wished = _choice(entry, query, proposed=True)
        if wished is not None and wished != choice:
            yield f"  but       the policy wished otherwise, and a guard changed it: {readable(wished.because)}"
    yield f"  policy    {entry.policy}"
    asked = _asked(journal, query, entry.at)
    if asked is not None:
        yield f"  asked     by {asked.scope}, because {readable(asked.decided.because)}"
    if isinstance(choice, Move) and choice.expect is not None:
        gain = choice.expect
        yield f"  expected  {gain.reduction:.1%} less interference, {gain.score:.3g} there; {gain.threshold:.0%} was wanted"
    for node in sorted(entry.seen.nodes, key=lambda node: node.name):
        load = f"load {node.load:.2f} per core, {node.own_load:.0%} its own"
        yield f"  beside    {node.name}: {node.queries} queries, {load}{'' if node.ready else ', takes no queries'}"


def _newest(journal: JournalReader, query: str, at: WallMs | None) -> tuple[Entry, Choice] | None:
    found = None
    for entry in journal.entries(PLACEMENT):
        choice = _choice(entry, query)
        if choice is not None and (at is None or entry.at <= at):
            found = entry, choice
    return found


def _choice(entry: Entry, query: str, proposed: bool = False) -> Choice | None:
    said = entry.proposed if proposed else entry.decided
    choices = said.choices if isinstance(said, Placements) else ()
    return next((choice for choice in choices if choice.query == query), None)


def _asked(journal: JournalReader, query: str, at: WallMs) -> Entry | None:
    """The newest request of its node by then."""
    found = None
    for entry in journal.entries(REQUEST):
        if entry.at <= at and isinstance(entry.decided, RequestMove) and entry.decided.request.query == query:
            found = entry
    return found


def _words(choice: Choice) -> str:
    match choice:
        case Move(source=source, target=target):
            return f"move from {source} to {target}"
        case Refuse():
            return "stay where it is"
    return f"begin on {choice.target}"
