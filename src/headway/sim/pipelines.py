"""The papers' queries as chains of operators: what an event costs at each of them, and how many go on to the next.

The papers give the shape of the queries and the rates, not the cost of an operator. `EVENT_US` is chosen so that the node
of the paper (24 cores) can just process what it reports as the most: 3.25 million events a second over all operators, four
of which an event of YSB meets on average. That is what 83 queries bring. Its figures for Linear Road and taxi trips show the
same number of queries in the same distress, so an event of theirs costs as much as makes 83 queries fill the node as well.
"""

from dataclasses import dataclass
from math import prod

from headway.model.deadline import Grid

EVENT_US, YSB_PER_S = 29.0, 10_000  # of a core, for an event of YSB through the whole chain; events of a query


@dataclass(frozen=True, slots=True)
class ChainOperator:
    """What it takes to process one event, relative to the others, and the events that come out for one that goes in."""

    name: str
    weight: float = 1.0
    selectivity: float = 1.0


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A query: a source, a chain of operators, windows at its end."""

    name: str
    operators: tuple[ChainOperator, ...]
    windows: tuple[Grid, ...]
    events_per_s: float
    event_us: float = EVENT_US
    inputs: int = 1  # streams that a join waits for: a window is over when the watermark of each has come
    event_bytes: float = 1_900  # 17.5 GB over the events in flight that Little's law gives for the paper's default

    @property
    def reach(self) -> tuple[float, ...]:
        """Of one event at the source, how many reach each operator."""
        return tuple(prod(o.selectivity for o in self.operators[:k]) for k in range(len(self.operators)))

    @property
    def costs_ms(self) -> tuple[float, ...]:
        """Per event at each operator, so that one at the source costs `event_us` in all."""
        whole = sum(o.weight * share for o, share in zip(self.operators, self.reach, strict=True))
        return tuple(self.event_us / 1000 * o.weight / whole for o in self.operators)


def _fills(events_per_s: float) -> float:
    """What an event costs if as many queries as of YSB fill the cores."""
    return EVENT_US * YSB_PER_S / events_per_s


def ysb() -> Pipeline:
    """Views of advertisements, counted by campaign in windows of 3 s: 10,000 events/s, a third of them are views."""
    chain = (
        ChainOperator("source", 0.5),
        ChainOperator("parse", 1.5),
        ChainOperator("filter", 0.5, selectivity=1 / 3),
        ChainOperator("project", 0.5),
        ChainOperator("join", 1.5),
        ChainOperator("window", 2.0, selectivity=0.01),
    )
    return Pipeline("ysb", chain, (Grid(3_000),), YSB_PER_S)


def linear_road() -> Pipeline:
    """Tolls and accidents: three streams joined, sliding windows of 5 s every 3 s, a last window three times as often."""
    chain = (
        ChainOperator("source", 0.5),
        ChainOperator("parse", 1.0),
        ChainOperator("speed", 1.5, selectivity=0.5),
        ChainOperator("join", 2.5, selectivity=0.5),
        ChainOperator("toll", 1.5),
        ChainOperator("window", 2.0, selectivity=0.01),
    )
    return Pipeline("linear-road", chain, (Grid(3_000), Grid(1_000)), 9_750, event_us=_fills(9_750), inputs=3)


def taxi() -> Pipeline:
    """Trips through many stateless operators into a mean over 2 s every second."""
    steps = tuple(ChainOperator(name, 1.0) for name in ("parse", "clean", "convert", "enrich", "project", "key"))
    chain = (ChainOperator("source", 0.5), *steps, ChainOperator("window", 2.0, selectivity=0.01))
    return Pipeline("taxi", chain, (Grid(1_000),), 7_000, event_us=_fills(7_000))


PIPELINES = {"ysb": ysb, "linear-road": linear_road, "taxi": taxi}
