"""What another policy would have decided, given what was seen."""

from collections.abc import Iterable, Iterator

from headway.loop.controller import Entry
from headway.model.decision import Decision, OrderPolicy


def replay(entries: Iterable[Entry], policy: OrderPolicy) -> Iterator[tuple[Entry, Decision]]:
    """Where `policy` would have decided otherwise. Nothing is actuated."""
    for entry in entries:
        if (other := policy.decide(entry.seen)) != entry.proposed:
            yield entry, other
