"""How late windows must be, whatever the schedule: a bound that no policy can beat, to see how far ours is from it."""

import heapq
from collections.abc import Iterable


def least_mean_ms(windows: Iterable[tuple[float, float]], cores: float) -> float:
    """The least possible mean of completion - release over (release, work) pairs, on `cores` that work one piece each.

    Two relaxations, of which the tighter counts: nothing is done before its release plus its own work; and one machine that
    is `cores` times as fast does all that the cores can, and more. On that one, always working on what has least left to do
    (SRPT) gives the least sum of completion times, and it is clairvoyant: it knows what each piece takes.
    """
    jobs = sorted(windows)
    if not jobs:
        return 0.0
    own = sum(work for _, work in jobs)
    fast = _shortest_first([(release, work / cores) for release, work in jobs]) - sum(release for release, _ in jobs)
    return max(own, fast) / len(jobs)


def _shortest_first(jobs: list[tuple[float, float]]) -> float:
    """The sum of completion times under SRPT on one machine; `jobs` by release."""
    left: list[float] = []
    now, total, position = 0.0, 0.0, 0
    while position < len(jobs) or left:
        if not left:
            now = max(now, jobs[position][0])
        while position < len(jobs) and jobs[position][0] <= now:
            heapq.heappush(left, jobs[position][1])
            position += 1
        work = heapq.heappop(left)
        until = jobs[position][0] if position < len(jobs) else now + work
        if now + work <= until:
            now += work
            total += now
        else:
            heapq.heappush(left, work - (until - now))
            now = until
    return total
