"""What another policy would have decided, given what was seen."""

from collections.abc import Iterable, Iterator
from typing import Any

from headway.loop.kernel import Entry


def replay(entries: Iterable[Entry], policy: Any) -> Iterator[tuple[Entry, Any]]:
    """Where `policy` would have decided otherwise. Nothing is actuated."""
    for entry in entries:
        if (other := policy.decide(entry.seen)) != entry.proposed:
            yield entry, other
