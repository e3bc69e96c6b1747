"""Why a window came out when it did, as a story: what happened, which query went first, what other policies would have
done."""

from collections import Counter
from collections.abc import Iterator

from headway.dashboard.decisions import answer_of, in_words
from headway.dashboard.late_window import WindowCase
from headway.dashboard.reading import JournalFile
from headway.dashboard.rivals import RivalAnswer, input_rivals, rivals
from headway.dashboard.words import clock, hour, lasting, readable, some

MOST_EVENTS = 16
SOON_MS = 5
LONG_AGO_MS = 60_000


def story(file: JournalFile, case: WindowCase) -> Iterator[tuple[str, str]]:
    """(word, sentence): a word says what the sentence is about; of what happened, it is the time."""
    yield "asked", question(case)
    yield "short", summary(case)
    happened = sorted(_happened(case), key=lambda event: event[0])
    for at, said in happened[:MOST_EVENTS]:
        yield clock(at), said
    if len(happened) > MOST_EVENTS:
        yield "", f"and {len(happened) - MOST_EVENTS} more batches went first, before it was let through"
        yield from ((clock(at), said) for at, said in happened[-2:])
    yield from _meanwhile(case)
    yield from _other_questions(file, case)
    yield from (("noted", f"{clock(note.at)} {note.text}") for note in case.notes[:5])
    yield from _rivals(case, rivals(file, case))
    for rival in input_rivals(file, case):
        because = readable(rival.answer.because)
        yield "rival", f"about {rival.scope}, {rival.policy} would {in_words(rival.answer)}, because {because}"


def question(case: WindowCase) -> str:
    late = case.late_ms
    how = f"late by {lasting(late)}" if late > SOON_MS else "on time"
    return f"why was the {hour(case.window.end)} window of {case.query} {how}?"


def summary(case: WindowCase) -> str:
    """The greatest part first."""
    own, gate, took = case.parts_ms
    parts = [(own, "until its own batch before was done"), (gate, "at the gate"), (took, "in the batch that emitted it")]
    said = [f"{lasting(ms)} {where}" for ms, where in sorted(parts, reverse=True) if ms > SOON_MS]
    return f"{lasting(case.late_ms)} after it was due: {', '.join(said)}" if said else "it came out when it was due"


def _happened(case: WindowCase) -> Iterator[tuple[int, str]]:
    """Events, each at its time."""
    window, batch, before = case.window, case.batch, case.before
    yield window.end, f"the window ended; its stragglers were waited for {lasting(case.patience_ms)}"
    yield window.due, "its result was due"
    if before is not None and before.at > window.due - LONG_AGO_MS:
        yield before.began, f"its batch {before.batch} began: {before.rows:,} rows, {lasting(before.took_ms)}"
        after = f", {lasting(before.at - window.due)} after the window was due" if before.at > window.due else ""
        yield before.at, f"that batch was done{after}; it came to the gate"
    for line in case.decisions:
        if line.kind == "grant" and line.query != case.query:
            yield line.at, f"{line.query} went first: {readable(line.because)}"
    yield batch.began, _let_through(case)
    yield batch.at, _emitted(case)


def _meanwhile(case: WindowCase) -> Iterator[tuple[str, str]]:
    """Which queries had the slots while it waited."""
    since = max(case.at_gate, case.window.due)
    waited, ran = case.batch.began - since, Counter[str]()
    for other in case.others:
        if (ms := min(other.at, case.batch.began) - max(other.began, since)) > 0:
            ran[other.query] += ms
    if waited > SOON_MS and ran:
        told = [f"{query} ({lasting(ms)})" for query, ms in ran.most_common()]
        yield "meanwhile", f"while it waited for {lasting(waited)}, batches of others ran: {some(told, 8)}"


def _let_through(case: WindowCase) -> str:
    if case.grant is None:
        return "its batch began; the journal has no decision about that"
    return f"it was let through: {readable(case.grant.because)} ({case.grant.policy or 'policy unknown'})"


def _emitted(case: WindowCase) -> str:
    batch, view = case.batch, case.view
    said = f"batch {batch.batch} emitted it, after {lasting(batch.took_ms)} for {batch.rows:,} rows"
    if view is None:
        return said
    expected = view.fixed_ms + view.per_row_ms * batch.rows
    return f"{said}; {lasting(expected)} were to be expected of so many rows"


def _other_questions(file: JournalFile, case: WindowCase) -> Iterator[tuple[str, str]]:
    for line in file.last_answers(case.query, case.batch.began):
        decided = answer_of(file, line.id)
        yield "decided", f"{line.query}, since {clock(line.at)}: {in_words(decided)}, because {readable(line.because)}"


def _rivals(case: WindowCase, answers: list[RivalAnswer]) -> Iterator[tuple[str, str]]:
    for answer in answers:
        if answer.at is None:
            instead = f", but {answer.instead}" if answer.instead else ""
            yield "rival", f"{answer.policy} would not have let it through by then{instead}"
        elif case.batch.began - answer.at > SOON_MS:
            sooner = lasting(case.batch.began - answer.at)
            yield "rival", f"{answer.policy} would have let it through at {clock(answer.at)}, {sooner} sooner"
        else:
            yield "rival", f"{answer.policy} would have let it through at the same moment"
    if answers:
        yield "", "(had another gone first, what came after would have been otherwise: `headway replay` compares whole runs)"
