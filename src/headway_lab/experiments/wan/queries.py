"""The three queries of the paper as geo plans (section 8.3, Table 3): values only."""

from headway.errors import SettingError
from headway.wan.plan import FilterRows, GeoQuery, GeoSource, MapRows, WindowAggregate
from headway_lab.workloads.wide_area import EDGES, tweets_by_edge

RATE = 10_000.0  # rows a second of each source in the paper, before anything is filtered
CAMPAIGNS, TOPICS, EVENTS = "campaigns", "topics", "events"
QUERIES = (CAMPAIGNS, TOPICS, EVENTS)
TASK_PER_S = 200_000.0  # rows that one slot can process: the network is what limits, as in the paper


def campaigns(partial: bool = False, state_mb: float = 8.0) -> GeoQuery:
    """YSB: views are kept (a third), projected, joined with their campaign in memory, and counted in 10 s."""
    return GeoQuery(
        CAMPAIGNS,
        _sources("ads", 200.0),
        (MapRows(40.0, makes=("ad_id", "event_time")), FilterRows(1 / 3, reads=("event_type",))),
        WindowAggregate(10_000, keys=100, row_bytes=60.0, state_mb=state_mb, partial=partial, task_per_s=TASK_PER_S),
        task_per_s=TASK_PER_S,
    )


def topics(partial: bool = False, state_mb: float = 100.0) -> GeoQuery:
    """The ten most frequent topics (here: languages) of each country in 30 s."""
    return GeoQuery(
        TOPICS,
        _sources("tweets", 900.0),
        (MapRows(60.0, makes=("topic",)), FilterRows(0.8, reads=("place",))),
        WindowAggregate(
            30_000, keys=6_000, row_bytes=80.0, state_mb=state_mb, by=("country", "topic"), out_per_window=2_000,
            partial=partial, task_per_s=TASK_PER_S,
        ),
        task_per_s=TASK_PER_S,
    )  # fmt: skip


def events() -> GeoQuery:
    """Tweets with certain properties, as they are: no state."""
    return GeoQuery(
        EVENTS,
        _sources("tweets", 900.0),
        (FilterRows(0.1, reads=("language", "country")), MapRows(300.0)),
        task_per_s=TASK_PER_S,
    )


def query(name: str, state_mb: float | None = None, partial: bool = False) -> GeoQuery:
    match name:
        case "campaigns":
            return campaigns(partial, 8.0 if state_mb is None else state_mb)
        case "topics":
            return topics(partial, 100.0 if state_mb is None else state_mb)
        case "events":
            return events()
    raise SettingError("query", name, f"one of {', '.join(QUERIES)}")


def raw_rates(name: str) -> dict[str, float]:
    """Rows a second by source, before its steps: ads evenly, tweets as they are over the countries."""
    if name == CAMPAIGNS:
        return {f"ads-{edge}": RATE for edge in EDGES}
    shares = tweets_by_edge()
    return {f"tweets-{edge}": RATE * len(EDGES) * shares[edge] for edge in EDGES}


def _sources(what: str, row_bytes: float) -> tuple[GeoSource, ...]:
    return tuple(GeoSource(f"{what}-{edge}", edge, row_bytes) for edge in EDGES)
