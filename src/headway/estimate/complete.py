"""Whether a window has the rows that its sample needs, sub-stream by sub-stream (Aion, Algorithm 4: SafeToProcess)."""

from bisect import bisect_left
from collections.abc import Sequence

from headway.model.sampling import Sampling, StreamView


def hold_ms(said: Sampling, seen: StreamView, rows: Sequence[float], read_ms: float) -> int:
    """How long after a window's end it goes at the soonest, given the rows of each of its last sub-streams that had been
    read `read_ms` after that end (less than 0: before it).

    A sub-stream that has fewer rows than it should by now will have them later than was planned, if at all: its rows are
    taken to come in as those of others do, and one that cannot get enough any more is waited for until patience ends. What
    had not ended when it was last read says nothing yet.
    """
    hold = said.wait_ms
    for place, (least, got) in enumerate(zip(said.least, rows, strict=False)):
        behind = (seen.places - 1 - place) * seen.sub_ms  # it ended so long before the window
        if read_ms + behind < 0:
            continue
        share = seen.arrived(read_ms + behind)
        if got >= least * min(1.0, share / max(seen.arrived(said.wait_ms + behind), 1e-9)):
            continue
        # Even if all came that are likely to: bisect ends at `until_ms` then.
        wanted = least * share / got if got > 0 else 2.0
        later = range(hold + behind, max(hold, said.until_ms) + behind)  # after its own end
        hold += bisect_left(later, wanted - 1e-9, key=seen.arrived)
    return hold
