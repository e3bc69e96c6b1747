"""What another policy would have decided, given what was seen, and what was remembered where policies remember."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headway.loop.kernel import Entry
from headway.loop.questions.adaptation import ADAPTATION
from headway.loop.questions.placement import PLACEMENT, REQUEST

# How policies that have a memory are asked; all others answer by what is seen alone.
ASKED: dict[str, Callable[[Any, Entry], Any]] = {
    REQUEST: lambda policy, entry: policy.request(entry.seen, entry.memory)[0],
    PLACEMENT: lambda policy, entry: policy.decide(entry.seen, entry.memory)[0],
    ADAPTATION: lambda policy, entry: policy.decide(entry.seen, entry.memory)[0],
}


def replay(entries: Iterable[Entry], policy: Any) -> Iterator[tuple[Entry, Any]]:
    """Where `policy` would have decided otherwise. Nothing is actuated."""
    for entry in entries:
        if (other := again(entry, policy)) != entry.proposed:
            yield entry, other


def again(entry: Entry, policy: Any) -> Any:
    """The answer of `policy` to the question of one entry."""
    asked = ASKED.get(entry.question)
    return policy.decide(entry.seen) if asked is None else asked(policy, entry)
