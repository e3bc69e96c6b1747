"""What a user writes: sources at sites, steps that need no state, and an aggregate or a join over all of them."""

from dataclasses import dataclass, replace
from typing import Literal

from headway.errors import SettingError


@dataclass(frozen=True, slots=True)
class GeoSource:
    """Rows that come into being at a site."""

    name: str
    site: str
    row_bytes: float = 100.0
    progress: bool = True  # it says how far its event time has come
    topic: str = ""  # of its site's broker, where its rows are; empty: of its own name

    def __post_init__(self) -> None:
        if not self.name or not self.site:
            raise SettingError("source.site", self.site, f"a name and a site, for {self.name!r}")
        _positive("source.row_bytes", self.row_bytes)


@dataclass(frozen=True, slots=True)
class FilterRows:
    """Keeps a part of the rows, by columns that it reads."""

    keep: float
    reads: tuple[str, ...] = ()
    where: str = ""  # as Spark's SQL has it, where the query is run and not only planned

    def __post_init__(self) -> None:
        if not 0 <= self.keep <= 1:
            raise SettingError("filter.keep", self.keep, "the share of the rows that it keeps, 0 to 1")


@dataclass(frozen=True, slots=True)
class MapRows:
    """Makes one row of each, with other columns and of another size."""

    row_bytes: float
    makes: tuple[str, ...] = ()  # columns that were not there before
    select: tuple[str, ...] = ()  # expressions of Spark's SQL, where the query is run; the time is kept anyway

    def __post_init__(self) -> None:
        _positive("map.row_bytes", self.row_bytes)


@dataclass(frozen=True, slots=True)
class MergedValue:
    """One figure of a group: what a single row adds to it, and how two parts of it are put together.

    A count is `MergedValue("n", "1")`, a greatest price `MergedValue("most", "price", "max")`. A mean is a sum and a count.
    """

    name: str
    row: str  # an expression of Spark's SQL
    merge: Literal["sum", "min", "max"] = "sum"


@dataclass(frozen=True, slots=True)
class TopRows:
    """Of the groups of a window only the greatest ones, for each value of other columns."""

    most: int
    by: str  # a value of the aggregate
    per: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _positive("top.most", self.most)


@dataclass(frozen=True, slots=True)
class WindowAggregate:
    """Groups by keys in tumbling windows. Parts of it may be aggregated before they are brought together."""

    window_ms: int
    keys: int  # groups in a window
    row_bytes: float
    state_mb: float
    by: tuple[str, ...] = ()
    out_per_window: int | None = None  # rows of the final result; as many as keys unless told
    task_per_s: float = 50_000.0
    partial: bool = True  # a part can be aggregated by itself, as a count can and a median cannot
    values: tuple[MergedValue, ...] = ()  # where the query is run
    top: TopRows | None = None

    def __post_init__(self) -> None:
        _positive("aggregate.window_ms", self.window_ms)
        _positive("aggregate.keys", self.keys)
        _positive("aggregate.row_bytes", self.row_bytes)


@dataclass(frozen=True, slots=True)
class WindowedJoin:
    """A full hash join of all sources in tumbling windows; in which order does not matter."""

    window_ms: int
    selectivity: float  # rows out for each row that comes into one of its stages
    row_bytes: float
    state_mb: float  # of a join of everything; others have their part of it
    task_per_s: float = 30_000.0

    def __post_init__(self) -> None:
        if self.window_ms < 0:
            raise SettingError("join.window_ms", self.window_ms, "0 (never empty) or more")
        _positive("join.row_bytes", self.row_bytes)


RowStep = FilterRows | MapRows


@dataclass(frozen=True, slots=True)
class GeoQuery:
    """A query over sources at many sites."""

    name: str
    sources: tuple[GeoSource, ...]
    steps: tuple[RowStep, ...] = ()
    last: WindowAggregate | WindowedJoin | None = None  # None: rows go to the sink as they are
    after: tuple[FilterRows, ...] = ()  # of results
    sink_site: str | None = None  # None: anywhere
    task_per_s: float = 100_000.0  # rows that one task of steps, or the sink, can process

    def __post_init__(self) -> None:
        names = [source.name for source in self.sources]
        if not names or len(set(names)) < len(names):
            raise SettingError("query.sources", names, "one or more, each with a name of its own")


def pushed(query: GeoQuery) -> GeoQuery:
    """The same with every filter as near to the sources as it can be.

    A filter of results that reads only what the aggregate groups by may filter its input instead; and one behind a map
    that does not make what it reads may come before it.
    """
    steps = list(query.steps)
    after: list[FilterRows] = []
    for filtering in query.after:
        if isinstance(query.last, WindowAggregate) and filtering.reads and set(filtering.reads) <= set(query.last.by):
            steps.append(filtering)
        else:
            after.append(filtering)
    moved = True
    while moved:
        moved = False
        for place in range(1, len(steps)):
            before, step = steps[place - 1], steps[place]
            if isinstance(step, FilterRows) and isinstance(before, MapRows) and not set(step.reads) & set(before.makes):
                steps[place - 1], steps[place] = step, before
                moved = True
    return replace(query, steps=tuple(steps), after=tuple(after))


def _positive(key: str, value: float) -> None:
    if not value > 0:
        raise SettingError(key, value, "more than 0")
