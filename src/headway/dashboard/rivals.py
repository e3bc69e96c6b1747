"""What other policies would have done at the moments at which a window waited: asked the same questions, one by one.

Only the first step can be asked. Had another query gone first, all that was seen later would have been otherwise.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headway.dashboard.approximate_page import policy_named
from headway.dashboard.late_window import WindowCase
from headway.dashboard.reading import JournalFile
from headway.errors import HeadwayError
from headway.loop.kernel import Entry
from headway.loop.replay import again
from headway.model.decision import Grant
from headway.model.patience import PatienceView
from headway.model.sampling import StreamView
from headway.model.time import WallMs
from headway.policy.order import FirstCome, HighestRate, Klink, ResponseRatio, RoundRobin, StreamBox
from headway.policy.patience import MaxDelay, Quantile
from headway.policy.sampling import Aion, AionMinus, AQKSlack, Everything

RIVALS = (Klink(), ResponseRatio(), FirstCome(), RoundRobin(), HighestRate(), StreamBox())
MOST_ASKED, MOST_VIEWS = 60, 6_000  # moments, and views of queries in all of them


@dataclass(frozen=True, slots=True)
class RivalAnswer:
    """When a policy would have let the query through first, had it been asked."""

    policy: str
    at: WallMs | None  # None: at none of these moments
    instead: str  # the query that it would have let through instead


def rivals(file: JournalFile, case: WindowCase) -> list[RivalAnswer]:
    """The answers of all policies to the questions that were asked while the window was due."""
    entries = list(_asked(file, case))
    return [_answer(entries, type(policy).__name__, policy, case.query) for policy in RIVALS] if entries else []


def _asked(file: JournalFile, case: WindowCase) -> Iterator[Entry]:
    lines, views = [line.id for line in case.decisions if line.at >= case.at_gate], 0
    for number in lines[-MOST_ASKED:]:
        if views > MOST_VIEWS:
            break
        try:
            entry = file.entry(number)
        except HeadwayError:  # forgotten
            continue
        views += len(entry.seen.queries)
        if any(view.name == case.query and view.waiting_since is not None for view in entry.seen.queries):
            yield entry


def _answer(entries: Sequence[Entry], name: str, policy: object, query: str) -> RivalAnswer:
    instead = ""
    for entry in entries:
        wish = again(entry, policy)
        if isinstance(wish, Grant) and wish.query == query:
            return RivalAnswer(name, entry.at, "")
        instead = wish.query if isinstance(wish, Grant) else "none"
    return RivalAnswer(name, None, instead)


@dataclass(frozen=True, slots=True)
class InputRival:
    """What another policy would have said about an input, by what was seen of it then."""

    scope: str
    policy: str
    answer: Any


def input_rivals(file: JournalFile, case: WindowCase) -> Iterator[InputRival]:
    """Other policies of patience and of sampling, asked what was asked last about the query's inputs."""
    for line in file.last_answers(case.query, case.batch.began):
        try:
            entry = file.entry(line.id)
        except HeadwayError:
            continue
        ran = entry.policy.partition("(")[0]
        for policy in _of_kind(entry):
            if type(policy).__name__ != ran:
                yield InputRival(entry.scope, type(policy).__name__, again(entry, policy))


def _of_kind(entry: Entry) -> tuple[Any, ...]:
    """Rivals of one question, as they come; those of a sample promise the same."""
    match entry.seen:
        case PatienceView():
            return (Quantile(), MaxDelay())
        case StreamView():
            asked = policy_named(entry.policy) or Aion()
            return tuple(kind(asked.error, asked.confidence, asked.of) for kind in (Aion, AionMinus, AQKSlack, Everything))
    return ()
