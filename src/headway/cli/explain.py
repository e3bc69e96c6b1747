"""`headway explain`: why a window was late, why a query ran when it did, or where it does, out of a journal."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from headway.cli import arguments, screen
from headway.cli.explain_area import area_account
from headway.cli.explain_fleet import fleet_account
from headway.cli.screen import clock
from headway.dashboard.decisions import in_words
from headway.dashboard.late_window import case_of, worst_windows
from headway.dashboard.reading import JournalFile
from headway.dashboard.story import story, summary
from headway.dashboard.words import hour, lasting, readable
from headway.errors import HeadwayError, SettingError
from headway.loop.journal import JournalReader
from headway.loop.kernel import Entry
from headway.loop.questions.adaptation import ADAPTATION
from headway.model.columns import Columns
from headway.model.decision import Grant
from headway.model.time import WallMs
from headway.policy.order import Klink

MOST_OTHERS = 20
MOST_NOTES = 5
MOST_LISTED, MOST_SAID = 200, 20


def explain(
    query: Annotated[
        str | None, typer.Argument(help="The query's name; all queries, with their worst windows, unless told.")
    ] = None,
    at: Annotated[str | None, typer.Option(help="HH:MM:SS[.mmm] of today, an ISO time or epoch ms; else now.")] = None,
    window: Annotated[
        str | None, typer.Option(help="The end of one of its windows, as HH:MM:SS, or `worst`: why was it late?")
    ] = None,
    journal: Annotated[Path | None, typer.Option(help="The journal; the newest of this user unless told.")] = None,
) -> None:
    """Say why a window was late; or what was decided about a query, why, and what its batch did."""
    when = None if at is None else arguments.moment(at)
    file = JournalFile(arguments.journal(journal))
    if query is None:
        if window is not None or at is not None:
            raise HeadwayError("--window and --at are about one query: headway explain QUERY --window 12:00:03")
        screen.out.print(listed(file))
    elif window is not None:
        for word, said in told(file, query, window):
            screen.out.print(
                f"{word:>12}  {said}" if word else f"{'':12}  {said}", soft_wrap=True, highlight=False, markup=False
            )
    else:
        for line in account(file, query, when):
            screen.out.print(line, soft_wrap=True, highlight=False, markup=False)


def listed(file: JournalFile) -> Table:
    """All queries, those with the latest windows first."""
    table = Table(box=box.SIMPLE_HEAD, caption="Why was it late? headway explain QUERY --window TIME")
    table.add_column("query", no_wrap=True)
    for head in ("worst window", "late by"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("mostly")
    names = sorted({*file.queries(), *pipelines(file)})
    found = [(name, next(iter(worst_windows(file, name)), None)) for name in names[:MOST_LISTED]]
    found.sort(key=lambda pair: (pair[1] is None, -(pair[1].latency_ms if pair[1] else 0), pair[0]))
    for place, (name, worst) in enumerate(found):
        if worst is None:
            table.add_row(Text(name), "-", "-", Text(_newest_note(file, name), no_wrap=True, overflow="ellipsis"))
            continue
        why = _summary(file, name, worst.end) if place < MOST_SAID else ""
        table.add_row(Text(name), hour(worst.end), lasting(worst.latency_ms), Text(why, no_wrap=True, overflow="ellipsis"))
    if len(names) > MOST_LISTED:
        table.add_row(f"and {len(names) - MOST_LISTED} more", "", "", "")
    return table


def pipelines(file: JournalFile) -> list[str]:
    """Of a wide area."""
    return [name for (name,) in file.all("select distinct scope from entries where question = ?", (ADAPTATION,))]


def _newest_note(file: JournalFile, query: str) -> str:
    notes = file.note_lines("query = ? order by id desc", (query,), 1)
    if notes:
        return f"{clock(notes[0].at)} {notes[0].text}"
    told = file.decision_lines("scope = ? and question = ? order by id desc", (query, ADAPTATION), 1)
    return f"{clock(told[0].at)} {told[0].kind}: {readable(told[0].because)}" if told else "no window of it has come out"


def _summary(file: JournalFile, query: str, end: int) -> str:
    try:
        return summary(case_of(file, query, end)).partition(": ")[2]
    except HeadwayError as error:
        return str(error)


def told(file: JournalFile, query: str, window: str) -> Iterator[tuple[str, str]]:
    """The story of one window."""
    _check(file, query)
    if window == "worst":
        worst = worst_windows(file, query)
        if not worst:
            raise HeadwayError(f"query = {query!r}: no window of it has come out yet")
        return story(file, case_of(file, query, worst[0].end))
    try:
        end = arguments.moment(window, now=lambda: _day(file, query))
    except SettingError:
        raise SettingError("window", window, "HH:MM:SS, an ISO time, epoch milliseconds, or worst") from None
    return story(file, case_of(file, query, end))


def _day(file: JournalFile, query: str) -> datetime:
    """A time without a date is of the day of the query's newest batch."""
    last = file.batch_lines("query = ? order by at desc", (query,), 1)
    return datetime.fromtimestamp(last[0].at / 1000) if last else datetime.now()


def _check(journal: JournalReader, query: str) -> None:
    known = journal.queries()
    if query not in known:
        raise SettingError("query", query, f"one of {', '.join(known)}" if known else "a query, but the journal knows none")


def account(journal: JournalFile, query: str, at: WallMs | None = None) -> Iterator[str]:
    """The story of the newest grant of `query`, or of the newest by `at`."""
    grant = journal.last_grant(query, at)
    if grant is None and (said := [*area_account(journal, query, at), *fleet_account(journal, query, at)]):
        yield from said
        return
    if grant is None:
        _check(journal, query)
        raise HeadwayError(f"query = {query!r}: it was let through the gate only later than {clock(at or WallMs(0))}")
    entry = journal.entry(grant.id)
    yield f"{query} at {clock(grant.at, date=True)}"
    yield f"  decided   {_decided(entry)}; {grant.receipt}"
    yield f"  why       {readable(grant.because)}"
    if entry.proposed != entry.decided:
        yield f"  but       the policy wished otherwise, and a guard changed it: {readable(entry.proposed.because)}"
    if entry.policy:
        yield f"  policy    {entry.policy}"
    yield from _company(entry, query)
    for answer in journal.last_answers(query, grant.at):
        yield f"  {answer.query}, since {clock(answer.at)}: {_answered(journal.entry(answer.id))}"
    batch = journal.batch_after(query, grant.at)
    yield f"  batch     {_batch(batch)}"
    yield from _latest(journal, query, batch)
    notes = journal.notes(query, since=grant.at)
    for moment, text in notes[:MOST_NOTES]:
        yield f"  note      {clock(moment)} {text}"
    if len(notes) > MOST_NOTES:
        yield f"  note      and {len(notes) - MOST_NOTES} more"


def _latest(journal: JournalFile, query: str, batch: dict[str, Any] | None) -> Iterator[str]:
    """The windows that came out with its batch."""
    if batch is None or not batch["watermark"]:
        return
    out = [w for w in worst_windows(journal, query, most=500) if w.batch == batch["batch"] and w.out == batch["at"]]
    if out:
        many = f"{len(out)} windows came out with it, the latest" if len(out) > 1 else "came out with it"
        yield f"  window    {hour(out[0].end)} {many} {lasting(out[0].latency_ms)} after it was due"


def _decided(entry: Entry) -> str:
    decided = entry.decided
    if isinstance(decided, Grant) and decided.announce is not None:
        return f"run its next batch, and announce the watermark {clock(decided.announce)}"
    return "run its next batch, the watermark stays"


def _answered(entry: Entry) -> str:
    """What was decided about an input, in words."""
    wished = "" if entry.proposed == entry.decided else f" (the policy wished otherwise: {readable(entry.proposed.because)})"
    return f"{in_words(entry.decided)}, because {readable(entry.decided.because)}{wished}; by {entry.policy}"


def _company(entry: Entry, query: str) -> Iterator[str]:
    """How long it stood at the gate, and beside which others."""
    seen = entry.seen
    mine = next((q for q in seen.queries if q.name == query), None)
    if mine is not None and mine.waiting_since is not None:
        yield f"  waited    {lasting(entry.at - mine.waiting_since)} at the gate"
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
    return f"slack {lasting(slack)}, due " + (f"in {lasting(due - now)}" if due > now else f"{lasting(now - due)} ago")


def _batch(batch: dict[str, Any] | None) -> str:
    if batch is None:
        return "none seen after it: it runs still, found no rows, or the query was stopped"
    mark = f"watermark {clock(batch['watermark'])}" if batch["watermark"] else "no watermark yet"
    return (
        f"number {batch['batch']} took {lasting(batch['took_ms'])}, was done at {clock(batch['at'])},"
        f" read {batch['rows']:,} rows; {mark}; {batch['late_rows']:,} late rows so far, {batch['dropped']:,} dropped;"
        f" {batch['state_rows']:,} rows of state"
    )
