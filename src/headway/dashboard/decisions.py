"""Every decision of the journal, page by page, with its reason and with what came of it."""

from dataclasses import asdict
from typing import Any

from headway.dashboard.area_words import area_words
from headway.dashboard.book import Book, told_of
from headway.dashboard.lines import BatchLine, DecisionLine
from headway.dashboard.reading import JournalFile, id_at
from headway.dashboard.windows import windows_of
from headway.dashboard.words import hour, lasting, readable
from headway.errors import SettingError
from headway.loop import codec
from headway.model.adaptation import Degrade, Keep, Reassign, Replan, ScaleDown, ScaleOut, ScaleUp
from headway.model.decision import Grant
from headway.model.patience import Wait
from headway.model.placement import Move, Placements, Refuse, RequestMove
from headway.model.sampling import Sampling
from headway.model.slack import SLTs
from headway.model.time import EventMs

PAGE = 100
QUESTIONS = ("order", "patience", "sampling", "slack", "request", "placement", "adaptation")
EFFECT_MS = 60_000  # for how long after a decision its effect is looked at


def page(file: JournalFile, book: Book, wanted: dict[str, str]) -> dict[str, Any]:
    """`before` and `after` are lines, `at` a moment; `question`, `query` and `kind` say which. The newest come first."""
    most = min(PAGE, _number(wanted, "limit", PAGE) or PAGE)
    where, arguments = _which(wanted)
    if (after := _number(wanted, "after")) is not None:
        found = file.decision_lines(f"id > ? and {where} order by id", (after, *arguments), most)[::-1]
    else:
        before = _number(wanted, "before")
        if (at := _number(wanted, "at")) is not None:
            before = id_at(file, "entries", at + 1)
        found = file.decision_lines(
            f"id < ? and {where} order by id desc", (1 << 62 if before is None else before, *arguments), most
        )
    first, last = file.all("select coalesce(min(id), 0), coalesce(max(id), 0) from entries")[0]
    ends = file.all("select at from entries where id in (?, ?) order by id", (first, last))
    span = [row[0] for row in ends] or [0, 0]
    return {
        "lines": [_told(file, book, line) for line in found],
        "first": first, "last": last, "from": span[0], "to": span[-1],
        "more": bool(found) and found[-1].id > first,
    }  # fmt: skip


def _which(wanted: dict[str, str]) -> tuple[str, list[Any]]:
    conditions, arguments = ["1"], list[Any]()
    if question := wanted.get("question"):
        if question not in QUESTIONS:
            raise SettingError("question", question, f"one of {', '.join(QUESTIONS)}")
        conditions.append("question = ?")
        arguments.append(question)
    if query := wanted.get("query"):
        conditions.append("query = ?")
        arguments.append(query)
    if wanted.get("kind") == "news":  # without holds, which are what is most often decided
        conditions.append("kind != 'hold'")
    return " and ".join(conditions), arguments


def _number(wanted: dict[str, str], key: str, default: int | None = None) -> int | None:
    text = wanted.get(key)
    if text is None or text == "":
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise SettingError(key, text[:40], "a whole number")
    return int(text)


def plain(line: DecisionLine, came_of_it: str) -> dict[str, Any]:
    told = {key: value for key, value in asdict(line).items() if key != "decided"}
    return told | {"because": readable(line.because), "effect": came_of_it}


def _told(file: JournalFile, book: Book, line: DecisionLine) -> dict[str, Any]:
    """One decision, with the batch that it led to."""
    batch = batch_of(file, line) if line.kind == "grant" else None
    return plain(line, effect(file, book, line, batch)) | {"batch": None if batch is None else batch.batch}


def effect(file: JournalFile, book: Book, line: DecisionLine, batch: BatchLine | None) -> str:
    """What was seen after a decision, in words; nothing where nothing was. `batch`: that it led to."""
    match line.question:
        case "order" if line.kind == "grant":
            return _of_grant(file, book, line, batch)
        case "patience" | "sampling" | "slack":
            return _of_wait(file, line)
        case "placement":
            return _of_moves(file, line)
    return ""


def _of_grant(file: JournalFile, book: Book, line: DecisionLine, batch: BatchLine | None) -> str:
    if batch is None:
        return "no batch of it yet"
    said = f"batch {batch.batch} took {lasting(batch.took_ms)} for {batch.rows:,} rows"
    view = book.of_known(line.query).view
    if view is None:
        return said
    before = file.batch_lines("query = ? and at < ? order by at desc", (line.query, batch.at), 1)
    mark = before[0].watermark or EventMs(0) if before else None
    windows = windows_of(mark, batch, view.deadlines, book.of_known(line.query).patience_ms(batch.began))
    if not windows:
        return said
    worst = max(windows, key=lambda w: w.latency_ms)
    many = f"{len(windows)} windows" if len(windows) > 1 else f"window {hour(worst.end)}"
    when = f"{lasting(worst.latency_ms)} after it was due" if worst.latency_ms >= 0 else "before it was due"
    return f"{said}; {many} came out {when}"


def batch_of(file: JournalFile, line: DecisionLine) -> BatchLine | None:
    """The batch that a grant led to."""
    found = file.batch_lines("query = ? and at >= ? order by at, id", (line.query, line.at), 1)
    return found[0] if found else None


def _of_wait(file: JournalFile, line: DecisionLine) -> str:
    """Late rows of the minute after it: what patience is about."""
    found = file.batch_lines(
        "query = ? and at between ? and ? order by at", (line.query, line.at, line.at + EFFECT_MS), 1_000
    )
    if len(found) < 2:
        return ""
    late, rows = found[-1].late_rows - found[0].late_rows, sum(b.rows for b in found[1:])
    return f"{late:,} of {rows:,} rows late in the {lasting(found[-1].at - found[0].at)} after"


def _of_moves(file: JournalFile, line: DecisionLine) -> str:
    decided = answer_of(file, line.id)
    moved = [c.query for c in decided.choices if isinstance(c, Move)] if isinstance(decided, Placements) else []
    said = []
    for query in moved[:3]:
        notes = file.note_lines(
            "query = ? and at >= ? and at < ? order by id desc", (query, line.at, line.at + EFFECT_MS), 1
        )
        said += [f"{query}: {note.text}" for note in notes]
    return "; ".join(said)


def answer_of(file: JournalFile, line: int) -> Any:
    """What was decided, as a value; None where that cannot be read."""
    row = file.one("select question, decided from entries where id = ?", (line,))
    if row is None:
        return None
    return codec.decision(row[1]) if row[0] == "order" else told_of(row[1])


def in_words(decided: Any) -> str:
    """What was decided, for people."""
    match decided:
        case Grant(query=query, announce=announce):
            return f"run {query}" + (f", announce {hour(announce)}" if announce is not None else "")
        case Wait(ms=ms):
            return f"wait {lasting(ms)}"
        case Sampling(share=share, wait_ms=ms):
            return f"take {share:.1%}, wait {lasting(ms)}"
        case SLTs(ms=thresholds):
            return "slack threshold " + ", ".join(lasting(ms) for ms in thresholds.values())
        case RequestMove(request=request):
            return f"ask that {request.query} may move"
        case Placements(choices=choices):
            return ", ".join(_chosen(choice) for choice in choices)
        case Keep() | Degrade() | Replan() | Reassign() | ScaleUp() | ScaleOut() | ScaleDown():
            return area_words(decided)
    return type(decided).__name__.lower()


def _chosen(choice: Any) -> str:
    match choice:
        case Move(query=query, source=source, target=target):
            return f"move {query} from {source} to {target}"
        case Refuse(query=query):
            return f"{query} stays"
    return f"start {choice.query} on {choice.target}"
