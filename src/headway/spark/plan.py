"""What a query's own plan tells: its inputs, its windows, and in which order Spark will ask its sources."""

import re
from dataclasses import dataclass
from typing import Any

from pyspark.sql import types as T

from headway.errors import HeadwayError, SettingError
from headway.model.deadline import Deadlines, Grid
from headway.spark.channel.rows import FORMATS

METRICS = "headway:"  # what the names of our metrics begin with
CADENCE_MS = 1_000  # how often a query without windows is served
_LIMIT = re.compile(r"(max|min)\w+per(trigger|(micro)?batch)$|^rowsperbatch$")
# Sources that hand out all they have, unless an option says otherwise. Others may have limits that no option shows
# (a table format's own, a reader that returns pages): they count as if they had.
_WHOLE = ("kafka", "rate", "socket", "headway-", "FileSource[")
_WINDOW = re.compile(r"LongType\) - (-?\d+)\) % (\d+)\)")
_SIZE = re.compile(r"END\) - 0\) \+ (\d+)\)")
_BY_TIME = re.compile(r"\b(Deduplicate\w*|Join|\w*MapGroups\w*|TransformWithState\w*) ")
_CHAINED = "precisetimestampconversion(window_time("  # a window over the results of another
_SESSION = re.compile(r"cast\(([^()]*?) as interval\)")
_LAG = re.compile(r"INTERVAL '([\d:. -]+)' (DAY|HOUR|MINUTE|SECOND)(?: TO (HOUR|MINUTE|SECOND))?")
_UNIT_MS = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1_000}


def metric_name(label: str, patience_ms: int) -> str:
    """What the metric of an input is called. Its patience is part of that: a query that has lost the gate goes by it."""
    return f"{METRICS}{label}/{patience_ms}"


def metric_label(name: str) -> str | None:
    """The input whose metric this is; None if it is none of ours."""
    return name.removeprefix(METRICS).rpartition("/")[0] if name.startswith(METRICS) else None


@dataclass(frozen=True, slots=True)
class PlanSeen:
    """The facts about a plan that decide how its query may be driven."""

    inputs: tuple[str, ...]  # names of the watermarked inputs
    deadlines: Deadlines
    ordered: bool  # the control source is asked before every other one
    limited: bool  # some source hands out its backlog in portions
    found: bool  # whether `deadlines` came from windows, or are a mere pace
    window_ms: int = 0  # the longest window
    strict: bool = False  # something in it goes by the time of rows itself, and not by windows


def inspect(frame: Any) -> PlanSeen:
    """Read the analysed plan of a streaming DataFrame."""
    analysed = frame._jdf.queryExecution().analyzed()
    text: str = analysed.toString()
    metrics = re.findall(rf"CollectMetrics ({METRICS}[^,]+),", text)
    inputs = tuple(dict.fromkeys(label for label in map(metric_label, metrics) if label is not None))
    sources = source_leaves(frame)
    if sum(s.control for s in sources) > 1:
        raise HeadwayError("a query mixes inputs of two Headway runtimes: watermark all of them with one")
    grids = windows(text)
    return PlanSeen(
        inputs,
        Deadlines(grids or (Grid(CADENCE_MS),)),
        # Spark keeps its sources in a Scala Map, which remembers their order only up to four of them.
        ordered=bool(sources) and sources[0].control and len(sources) <= 4,
        limited=any(s.limited for s in sources),
        found=bool(grids),
        window_ms=max((int(us) // 1000 for us in _SIZE.findall(text)), default=0),
        strict=_strict(text, bool(grids)),
    )


def _strict(plan: str, windowed: bool) -> bool:
    """Whether a row whose time is the watermark itself may be refused: aggregates by windows alone are known not to."""
    by_windows = all("window#" in line for line in plan.splitlines() if "Aggregate [" in line)
    return not (windowed and by_windows) or bool(_BY_TIME.search(plan))


def windows(plan: str) -> tuple[Grid, ...]:
    """The deadlines of all windows in a plan's text, each also shifted by the time ranges of the joins in it."""
    grids: list[Grid] = []
    finer: list[Grid] = []
    for line in plan.splitlines():
        if "named_struct(start" not in line:
            continue
        if session := _SESSION.search(line):
            grids.append(Grid(min(_session_gap_ms(session[1]), CADENCE_MS)))
        elif (shape := _WINDOW.search(line)) and (size := _SIZE.search(line)):
            start_us, slide_us, size_us = int(shape[1]), int(shape[2]), int(size[1])
            slide_ms = max(1, slide_us // 1000)
            found = Grid(slide_ms, (start_us + size_us) // 1000 % slide_ms)
            (finer if _CHAINED in line else grids).append(found)
    grids += [end for grid in finer for end in _ends_over(grid, grids)]
    # A join within a time range holds its output back by that range: a window above it closes that much later.
    lags = {0, *(lag for line in plan.splitlines() if re.search(r"\bJoin ", line) for lag in _lags_ms(line))}
    return tuple(dict.fromkeys(Grid(g.period_ms, (g.offset_ms + lag) % g.period_ms) for g in grids for lag in sorted(lags)))


def _ends_over(grid: Grid, below: list[Grid]) -> list[Grid]:
    """When windows over the results of other windows emit: a window advances only when the windows below it emit."""
    if not below or any(b.period_ms % grid.period_ms for b in below):
        return [grid]
    return [Grid(b.period_ms, (b.offset_ms + (grid.offset_ms - b.offset_ms) % grid.period_ms) % b.period_ms) for b in below]


def _lags_ms(line: str) -> list[int]:
    return [_interval_ms(text, unit, to) for text, unit, to in _LAG.findall(line)]


def _interval_ms(text: str, unit: str, to: str) -> int:
    """`INTERVAL '01:30' MINUTE TO SECOND` in milliseconds."""
    units = list(_UNIT_MS)
    parts = re.split(r"[: ]", text.strip().lstrip("-"))
    names = units[units.index(unit) : (units.index(to) if to else units.index(unit)) + 1]
    return round(sum(float(p) * _UNIT_MS[n] for p, n in zip(parts, names, strict=False)))


def _session_gap_ms(text: str) -> int:
    total = sum(
        float(n) * _UNIT_MS.get(unit.upper().rstrip("S"), 1) for n, unit in re.findall(r"(\d+(?:\.\d+)?) ([a-z]+)", text)
    )
    return max(1, round(total)) if total else CADENCE_MS


@dataclass(frozen=True, slots=True)
class Source:
    """A streaming source in a plan."""

    name: str
    options: dict[str, str]

    @property
    def control(self) -> bool:
        return self.name in FORMATS

    @property
    def limited(self) -> bool:
        """Whether it may leave rows behind that have come."""
        names = (re.sub(r"[^a-z]", "", key.lower()) for key in self.options)
        return not self.name.startswith(_WHOLE) or any(_LIMIT.search(name) for name in names)


def source_leaves(frame: Any) -> list[Source]:
    """The distinct streaming sources of a DataFrame, in the order in which Spark finds them."""
    return _sources(frame._jdf.queryExecution().analyzed().collectLeaves())


def _sources(leaves: Any) -> list[Source]:
    distinct: list[Any] = []
    for leaf in (leaves.apply(i) for i in range(leaves.size())):
        if leaf.isStreaming() and not any(leaf.equals(other) for other in distinct):
            distinct.append(leaf)
    return [Source(_name(leaf), _options(leaf)) for leaf in distinct]


def _name(leaf: Any) -> str:
    """The format that a source was read with; empty for a table of a catalog, which goes by a name of the user's."""
    kind = leaf.getClass().getSimpleName()
    if not kind.startswith("StreamingRelation") or (kind == "StreamingRelationV2" and leaf.source().isEmpty()):
        return ""
    return str(leaf.sourceName())


def _options(leaf: Any) -> dict[str, str]:
    kind = leaf.getClass().getSimpleName()
    if kind == "StreamingRelationV2":
        return dict(leaf.extraOptions().asCaseSensitiveMap())
    if kind == "StreamingRelation":
        return dict(re.findall(r"(\w+) -> ([^,)]*)", leaf.dataSource().options().toString()))
    return {}


def time_column(frame: Any, column: str) -> None:
    """Refuse, in one line, what cannot be watermarked."""
    if not getattr(frame, "isStreaming", False):
        raise HeadwayError("rt.watermark needs a streaming DataFrame: read it with spark.readStream")
    fields = [f for f in frame.schema.fields if f.name == column]
    if not fields:
        names = ", ".join(f.name for f in frame.schema.fields)
        raise SettingError("watermark.column", column, f"one of the columns {names}")
    if fields[0].dataType.typeName() not in ("timestamp", "timestamp_ltz"):
        kind = fields[0].dataType.simpleString()
        raise SettingError("watermark.column", column, f"a timestamp column, but it is of type {kind}: cast it first")
    plan = frame._jdf.queryExecution().analyzed().toString()
    if "EventTimeWatermark" in plan:
        raise HeadwayError(
            f"this input has a watermark already: drop withWatermark (or rt.watermark) before {column!r} gets one"
        )


def quoted(name: str) -> str:
    """A column's name as Spark's parser wants it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def hashable(kind: T.DataType) -> bool:
    """Whether Spark has a hash for values of this type: maps may be equal in any order."""
    match kind:
        case T.MapType() | T.VariantType():
            return False
        case T.ArrayType(elementType=inner):
            return hashable(inner)
        case T.StructType(fields=fields):
            return all(hashable(f.dataType) for f in fields)
    return True
