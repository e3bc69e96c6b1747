"""`headway explain`: why a query ran when it did, out of the journal."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli import arguments, screen
from headway.errors import HeadwayError, SettingError
from headway.loop.journal import JournalReader
from headway.loop.kernel import Entry
from headway.model.columns import Columns
from headway.model.decision import Grant
from headway.model.patience import Wait
from headway.model.sampling import Sampling
from headway.model.time import WallMs
from headway.policy.order import Klink

MOST_OTHERS = 20
MOST_NOTES = 5


def explain(
    query: Annotated[str, typer.Argument(help="The query's name.")],
    at: Annotated[str | None, typer.Option(help="HH:MM:SS[.mmm] of today, an ISO time or epoch ms; else now.")] = None,
    journal: Annotated[Path | None, typer.Option(help="The journal; the newest of this user unless told.")] = None,
) -> None:
    """Say what was decided about a query, why, who else was waiting, and what its batch did."""
    when = None if at is None else arguments.moment(at)
    for line in account(JournalReader(arguments.journal(journal)), query, when):
        screen.out.print(line, soft_wrap=True, highlight=False, markup=False)


def account(journal: JournalReader, query: str, at: WallMs | None = None) -> Iterator[str]:
    """The story of the newest grant of `query`, or of the newest by `at`."""
    grant = journal.last_grant(query, at)
    if grant is None:
        known = journal.queries()
        if query not in known:
            raise SettingError(
                "query", query, f"one of {', '.join(known)}" if known else "a query, but the journal knows none"
            )
        raise HeadwayError(f"query = {query!r}: it was let through the gate only later than {clock(at or WallMs(0))}")
    entry = journal.entry(grant.id)
    yield f"{query} at {clock(grant.at, date=True)}"
    yield f"  decided   {_decided(entry)}; {grant.receipt}"
    yield f"  why       {grant.because}"
    if entry.proposed != entry.decided:
        yield f"  but       the policy wished otherwise, and a guard changed it: {entry.proposed.because}"
    if entry.policy:
        yield f"  policy    {entry.policy}"
    yield from _company(entry, query)
    for answer in journal.last_answers(query, grant.at):
        yield f"  {answer.query}, since {clock(answer.at)}: {_answered(journal.entry(answer.id))}"
    yield f"  batch     {_batch(journal.batch_after(query, grant.at))}"
    notes = journal.notes(query, since=grant.at)
    for moment, text in notes[:MOST_NOTES]:
        yield f"  note      {clock(WallMs(moment))} {text}"
    if len(notes) > MOST_NOTES:
        yield f"  note      and {len(notes) - MOST_NOTES} more"


def _decided(entry: Entry) -> str:
    decided = entry.decided
    if isinstance(decided, Grant) and decided.announce is not None:
        return f"run its next batch, and announce the watermark {clock(WallMs(decided.announce))}"
    return "run its next batch, the watermark stays"


def _answered(entry: Entry) -> str:
    """What was decided about an input, in words."""
    match entry.decided:
        case Wait(ms=ms, because=because):
            said = f"its stragglers are waited for {ms} ms, because {because}"
        case Sampling(share=share, wait_ms=ms, because=because):
            said = f"{share:.1%} of its rows are taken and its windows wait {ms} ms, because {because}"
        case other:
            said = f"{type(other).__name__.lower()}, because {other.because}"
    wished = "" if entry.proposed == entry.decided else f" (the policy wished otherwise: {entry.proposed.because})"
    return f"{said}{wished}; by {entry.policy}"


def _company(entry: Entry, query: str) -> Iterator[str]:
    """How long it stood at the gate, and beside whom."""
    seen = entry.seen
    mine = next((q for q in seen.queries if q.name == query), None)
    if mine is not None and mine.waiting_since is not None:
        yield f"  waited    {entry.at - mine.waiting_since} ms at the gate"
    others = [q for q in seen.waiting if q.name != query]
    running = [q.name for q in seen.queries if q.running]
    yield (
        f"  beside    {len(others)} more at the gate, {len(running)} in a batch"
        f"{' (' + ', '.join(running[:MOST_OTHERS]) + ')' if running else ''}, {seen.slots} at once allowed"
    )
    if seen.memory.pressed:
        yield f"  memory    short: {seen.memory.used:.0%} in use"
    slacks = Klink().slack_ms(Columns.of(others), seen.now).tolist()
    for slack, other in sorted(zip(slacks, others, strict=True), key=lambda pair: (pair[0], pair[1].name))[:MOST_OTHERS]:
        yield f"            {other.name}: {_urgency(slack, other.due, seen.now)}"


def _urgency(slack: float, due: WallMs | None, now: WallMs) -> str:
    if due is None:
        return "nothing known of it yet"
    return f"slack {slack:.0f} ms, due " + (f"in {due - now} ms" if due > now else f"{now - due} ms ago")


def _batch(batch: dict[str, Any] | None) -> str:
    if batch is None:
        return "none seen after it: it runs still, found no rows, or the query was stopped"
    mark = f"watermark {clock(WallMs(batch['watermark']))}" if batch["watermark"] else "no watermark yet"
    return (
        f"number {batch['batch']} took {batch['took_ms']} ms, was done at {clock(WallMs(batch['at']))},"
        f" read {batch['rows']:,} rows; {mark}; {batch['late_rows']:,} late rows so far, {batch['dropped']:,} dropped;"
        f" {batch['state_rows']:,} rows of state"
    )


def clock(at: WallMs, date: bool = False) -> str:
    """A moment as the clock on the wall shows it."""
    moment = datetime.fromtimestamp(at / 1000)
    return moment.isoformat(" " if date else "T", "milliseconds")[0 if date else 11 :]
