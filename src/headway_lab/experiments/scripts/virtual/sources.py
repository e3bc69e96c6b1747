"""The sources of a query in a script: which rows have come in by when, and which of them they hand out to a batch."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count

from headway_lab.experiments.scripts.virtual.script import BASE, Script, ScriptQuery, arrivals, kind_of
from headway_lab.experiments.scripts.virtual.trace import ArrivedRow

FRESH_EVERY_MS, FRESH_DELAY_MS = 500, 50  # rows after the script's end


@dataclass(frozen=True, slots=True)
class HandedOut:
    """What the sources of a query gave to one batch."""

    upto: dict[str, int]  # by input: how many of its rows have been read now
    read: dict[str, list[ArrivedRow]]
    left: bool  # one of them had more


class ScriptSources:
    """All rows of a query's inputs, each in the order in which its source has them: by arrival."""

    def __init__(self, rows: dict[str, list[ArrivedRow]]) -> None:
        self.rows = rows
        self._times = {name: [row.at for row in of_input] for name, of_input in rows.items()}

    def arrived(self, name: str, at: int) -> int:
        """How many rows of an input are there by then."""
        return bisect_right(self._times[name], at)

    def hand_out(self, query: ScriptQuery, before: Mapping[str, int], at: int, ends: Mapping[str, int] | None) -> HandedOut:
        """What is there by then and was not read `before`; no more than their limits, nor than a bounded run's `ends`."""
        upto: dict[str, int] = {}
        read: dict[str, list[ArrivedRow]] = {}
        left = False
        for i in query.inputs:
            first, there = before.get(i.name, 0), self.arrived(i.name, at)
            if ends is not None:
                there = min(there, max(first, ends[i.name]))
            upto[i.name] = there if i.limit is None else min(there, first + i.limit)
            left = left or upto[i.name] < there
            read[i.name] = self.rows[i.name][first : upto[i.name]]
        return HandedOut(upto, read, left)


def sources_of(script: Script, closing_ms: int) -> dict[str, ScriptSources]:
    """By query. Rows have keys of their own over the whole script; fresh ones come after its end, until `closing_ms`."""
    key = count(1)
    return {
        query.name: ScriptSources(
            {i.name: [replace(row, key=next(key)) for row in _rows(script, query, i.name, closing_ms)] for i in query.inputs}
        )
        for query in script.queries
    }


def _rows(script: Script, query: ScriptQuery, name: str, closing_ms: int) -> list[ArrivedRow]:
    """All rows of one input, in the order in which its source has them: by arrival."""
    actions = [a for a in script.actions if a.get("query") == query.name and a.get("input") == name]
    skew = next(i.skew_ms for i in query.inputs if i.name == name)
    last = range(script.length_ms, 0 if query.bounded else closing_ms, FRESH_EVERY_MS)
    found = [(at, event, kind_of(a)) for a in actions for at, event in arrivals(a)]
    found += [(at, at - FRESH_DELAY_MS + skew, "fresh") for at in last]
    return [
        ArrivedRow(0, query.name, name, BASE + at, None if event is None else BASE + event, kind)
        for at, event, kind in sorted(found, key=lambda row: row[0])
    ]
