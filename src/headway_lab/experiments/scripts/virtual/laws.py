"""The laws: what must hold in every script, of rows (`row_laws.py`) and of time (`time_laws.py`)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headway_lab.experiments.scripts.virtual import row_laws, time_laws
from headway_lab.experiments.scripts.virtual.trace import QueryTrace, ScriptTrace


@dataclass(frozen=True, slots=True)
class Violation:
    """A law that was broken, and how."""

    law: str
    query: str
    says: str


Law = Callable[[ScriptTrace, QueryTrace], Iterator[str]]  # what is wrong with a query, in words
LAWS: tuple[Law, ...] = (
    row_laws.nobody_is_counted_twice,
    row_laws.rows_are_refused_only_as_the_contract_says,
    row_laws.rows_alone_refuse_what_stock_refuses,
    row_laws.future_rows_are_beyond_the_horizon,
    row_laws.late_rows_are_counted,
    row_laws.rows_set_aside_are_counted,
    time_laws.the_watermark_never_goes_back,
    time_laws.nothing_is_swept_before_it_is_ripe,
    time_laws.queries_with_rows_are_read,
    time_laws.nobody_is_stuck,
)
NOTHING_RAISES = "nothing_raises"
NAMES = (NOTHING_RAISES, *(law.__name__ for law in LAWS))


def broken(trace: ScriptTrace) -> list[Violation]:
    """Every law that a script has broken, once per query."""
    if trace.raised:  # the script was broken off: nothing else can be said of it
        return [Violation(NOTHING_RAISES, "", trace.raised[0])]
    return [
        Violation(law.__name__, name, says)
        for name, history in trace.queries.items()
        for law in LAWS
        for says in list(law(trace, history))[:1]
    ]
