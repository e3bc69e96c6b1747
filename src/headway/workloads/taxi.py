"""New York's green taxis: a chain of stateless steps, then the mean distance of trips in windows of 2 s every 1 s.

Trips come from the real files, in time order and at a chosen speed, or from a generator whose distances follow the files'.
The real trips have a second reading: the taxi reports a trip when it ends, so what happened at the pickup arrives at the
dropoff, eleven minutes late in the middle and four times in five behind a trip that began after it.

What bites in the files: they are not in time order; a few trips carry another year; times are New York's wall clock, whole
seconds without a zone, taken for UTC here; one trip in fifteen has no passenger count; refunds are trips with a negative
fare; one trip in twenty has no distance and one in two thousand more than 100 miles; one in 250 "lasts"
about a day. `trips` keeps all but the stray years, for cleaning is the query's work.

Distances are whole hundredths of a mile. Sums are of those, so that the order of addition cannot change them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headway.errors import SettingError
from headway.workloads.data import find
from headway.workloads.delays import SLICES, Delay
from headway.workloads.feed import Feed, parsed
from headway.workloads.ysb import Hashes, Longs, xxhash64

Pane = tuple[int, str]  # the end of a window in event-time ms, and a borough, or "" for the whole city
Sums = tuple[int, int]  # hundredths of a mile, and trips

# Of the JSON that a row is.
SCHEMA = "event_ms long, distance double, fare double, passengers int, pickup_zone int, dropoff_zone int, seconds long"
BODY = b'"distance":%.2f,"fare":%.2f,"passengers":%b,"pickup_zone":%d,"dropoff_zone":%d,"seconds":%d'

# A trip that may have happened, in whole numbers: within 100 miles and 3 hours, not paid back, no faster than 100 mph.
FURTHEST = 10_000
LONGEST_S = 3 * 3_600
POSSIBLE = (
    f"hundredths between 1 and {FURTHEST} and fare >= 0 and seconds between 1 and {LONGEST_S}"
    " and hundredths * 36 <= seconds * 100"
)

KM_PER_HUNDREDTH = 0.01609344

# The borough of zone 1, 2, .. 263, a letter each. Zones are numbered by their names, so no arithmetic tells boroughs apart.
ZONES = (
    "NQXMSSQQQQBMMBQQBXQXBBSMBBQQBQXXBBBBBQBBMMMSMXXMBMXBQBBQQXXXBBBQBBBMXQBBQMMBBXMBXQQSBQMMBMBQQXQQBQSMQQMMMBMBSSBBMMSMQSXMQ"
    "QBQMXMMQQQQBQQXMQQMMMMMQQXMBBMMMBBSQMXQMMMMBMXXXMQSQXQSBBQQBXXXXMSBBBQQQMBQQQXXQMQSQSQXMBMXXSQQBQQXSBQMBQBBMMMMMMXMMMMXXXM"
    "MSMXXMXSQQXBBBQXQMMM"
)
BOROUGHS = {"B": "Brooklyn", "M": "Manhattan", "N": "Newark", "Q": "Queens", "S": "Staten Island", "X": "Bronx"}
NAMES = ("Unknown", *BOROUGHS.values())


# From the files.


def trips(months: Sequence[int] = (1,)) -> Feed:
    """The trips of some months of 2023, each known at once: a stream in order."""
    read = _read(months)
    return Feed.of("taxi", read.pickup_ms, read.pickup_ms, read.body)


def late_trips(months: Sequence[int] = (1,), longest_s: int = LONGEST_S) -> Feed:
    """The trips of some months of 2023, each known when it ended: a stream as late as trips are long.

    Without those that ended before they began or took longer than `longest_s`; `left_out` counts them. A meter left
    running overnight would otherwise make a watermark that waits for everybody wait for a day.
    """
    read = _read(months)
    lasted_ms = read.dropoff_ms - read.pickup_ms
    kept = np.flatnonzero((lasted_ms >= 0) & (lasted_ms <= longest_s * 1_000))
    return Feed.of("late-taxi", read.pickup_ms[kept], read.dropoff_ms[kept], [read.body[i] for i in kept.tolist()])


@dataclass(frozen=True)
class LeftOut:
    """How many rows of the files a feed does not have, by reason."""

    stray: int  # picked up in another month than the file's: in no feed
    backwards: int  # ended before it began: in no late feed
    too_long: int  # in no late feed


def left_out(months: Sequence[int] = (1,), longest_s: int = LONGEST_S) -> LeftOut:
    """What `trips` (the stray) and `late_trips` (all three) leave out."""
    read = _read(months)
    lasted_ms = read.dropoff_ms - read.pickup_ms
    return LeftOut(read.stray, int((lasted_ms < 0).sum()), int((lasted_ms > longest_s * 1_000).sum()))


def speed_for(feed: Feed, rate: float) -> float:
    """How many times as fast `feed` must run (`Feed.rebased`) to bring `rate` rows a second on average.

    The real taxis make one trip in forty seconds. At the thousands a second of a benchmark a month is over in seconds and
    the hours of the night are gaps of milliseconds; delays shrink alike, so late trips are then late by little.
    """
    if not rate > 0:
        raise SettingError("rate", rate, "more than 0 rows a second")
    lasts_ms = int(np.ptp(feed.event_ms)) if len(feed) else 0
    return rate * lasts_ms / 1_000 / len(feed) if lasts_ms else 1.0


@dataclass(frozen=True, eq=False)
class _Read:
    pickup_ms: Longs
    dropoff_ms: Longs
    body: list[bytes]
    stray: int


def _read(months: Sequence[int]) -> _Read:
    """The rows of the files in their order, without those of another month than their file's."""
    if not months:
        raise SettingError("months", months, "one month or more, e.g. (1,)")
    frames, rows = [], 0
    for month in months:
        frame = pd.read_parquet(find(f"taxi/green_tripdata_2023-{month:02d}.parquet"), columns=list(COLUMNS))
        rows += len(frame)
        picked_up = frame["lpep_pickup_datetime"].to_numpy().astype("datetime64[M]")
        frames.append(frame[picked_up == np.datetime64(f"2023-{month:02d}")])
    frame = pd.concat(frames).rename(columns=COLUMNS)
    pickup_ms, dropoff_ms = (
        frame[name].to_numpy().astype("datetime64[ms]").astype(np.int64) for name in ("pickup", "dropoff")
    )
    passengers = frame["passengers"].fillna(-1).astype(np.int64)
    body = _bodies(
        frame["distance"].tolist(),
        frame["fare"].tolist(),
        passengers.tolist(),
        frame["pickup_zone"].tolist(),
        frame["dropoff_zone"].tolist(),
        ((dropoff_ms - pickup_ms) // 1_000).tolist(),
    )
    return _Read(pickup_ms, dropoff_ms, body, rows - len(frame))


COLUMNS = {
    "lpep_pickup_datetime": "pickup",
    "lpep_dropoff_datetime": "dropoff",
    "trip_distance": "distance",
    "fare_amount": "fare",
    "passenger_count": "passengers",
    "PULocationID": "pickup_zone",
    "DOLocationID": "dropoff_zone",
}


def _bodies(
    miles: list[float], fare: list[float], passengers: list[int], pickup: list[int], dropoff: list[int], seconds: list[int]
) -> list[bytes]:
    """Fewer than no passengers stand for an unknown number."""
    known = [b"null" if n < 0 else b"%d" % n for n in passengers]
    return [BODY % row for row in zip(miles, fare, known, pickup, dropoff, seconds, strict=True)]


# From a generator.

# Quantiles of the distance in hundredths of a mile, of January's trips up to 100 miles: those without a distance are in.
DISTANCES = {
    0: 0, 0.049: 0, 0.055: 9, 0.06: 22, 0.1: 60, 0.2: 97, 0.3: 126, 0.4: 151, 0.5: 185, 0.6: 226, 0.7: 282,
    0.8: 374, 0.85: 450, 0.9: 578, 0.95: 774, 0.98: 1_087, 0.99: 1_419, 0.995: 1_737, 0.999: 2_396, 1: 6_618,
}  # fmt: skip
# Quantiles of the seconds that a mile takes, of January's possible trips of more than half a mile.
PACES = {0: 100, 0.01: 115, 0.05: 158, 0.25: 261, 0.5: 336, 0.75: 416, 0.95: 582, 0.99: 790, 1: 1_000}
# Where January's trips begin: each zone as often as it stands here, to the nearest sixteenth.
PICKUPS = np.array((74, 74, 74, 75, 75, 41, 166, 95, 82, 43, 97, 7, 244, 42, 65, 260))
FLAG_CENTS, MILE_CENTS = 534, 393  # a line through January's fares

# Which bits of a trip's hash say what: (first bit, width).
DELAY_BITS, DISTANCE_BITS, PACE_BITS, PICKUP_BITS, DROPOFF_BITS, PASSENGER_BITS, REFUND_BITS = (
    (0, 10),
    (10, 10),
    (20, 10),
    (30, 4),
    (34, 10),
    (44, 4),
    (48, 8),
)


@dataclass(frozen=True)
class Taxis:
    """Trips like January's at any rate: trip `i` is a pure function of the seed and `i`.

    It happens `i * 1000 // rate` ms after the epoch. One in twenty has no distance, one in sixteen no passenger count,
    one in 256 is paid back.
    """

    seed: int
    rate: int  # trips per second
    epoch_ms: int  # event time of trip 0
    delay: Delay

    def __post_init__(self) -> None:
        if self.rate < 1:
            raise SettingError("taxi.rate", self.rate, "1 or more")

    def feed(self, since_ms: int, until_ms: int) -> Feed:
        """The trips that arrive from `since_ms` up to, not including, `until_ms`: one feed after the other loses none."""
        first = self._trips_before(since_ms - self.delay.max_ms)
        i = np.arange(first, max(first, self._trips_before(until_ms)), dtype=np.int64)
        h = xxhash64(self.seed, i)
        event_ms = self.epoch_ms + i * 1_000 // self.rate
        arrival_ms = event_ms + self.delay.table()[_take(h, DELAY_BITS)]
        kept = (arrival_ms >= since_ms) & (arrival_ms < until_ms)
        h = h[kept]
        hundredths = _table(DISTANCES)[_take(h, DISTANCE_BITS)]
        cents = FLAG_CENTS + hundredths * MILE_CENTS // 100
        body = _bodies(
            (hundredths / 100).tolist(),
            (np.where(_take(h, REFUND_BITS) == 0, -cents, cents) / 100).tolist(),
            np.where(_take(h, PASSENGER_BITS) == 0, -1, 1).tolist(),
            PICKUPS[_take(h, PICKUP_BITS)].tolist(),
            (_take(h, DROPOFF_BITS) % len(ZONES) + 1).tolist(),
            (hundredths * _table(PACES)[_take(h, PACE_BITS)] // 100).tolist(),
        )
        return Feed.of("taxis", event_ms[kept], arrival_ms[kept], body)

    def _trips_before(self, at_ms: int) -> int:
        return max(0, -(-(at_ms - self.epoch_ms) * self.rate // 1_000))


def _table(quantiles: Mapping[float, int]) -> Longs:
    """1,024 equally likely values: the quantiles with straight lines between them, at the mid-points of equal slices."""
    middles = (np.arange(SLICES) + 0.5) / SLICES
    return np.rint(np.interp(middles, list(quantiles), list(quantiles.values()))).astype(np.int64)


def _take(h: Hashes, bits: tuple[int, int]) -> Longs:
    first, width = bits
    return (h >> np.uint64(first) & np.uint64((1 << width) - 1)).astype(np.int64)


# In Spark.


def typed(rows: Any) -> Any:
    """The trips in column `value`, beside the other columns."""
    return parsed(rows, SCHEMA)


def _others(rows: Any) -> list[str]:
    return [name for name in rows.columns if name != "value"]


def chain(rows: Any) -> Any:
    """The stateless steps: parse, count in whole hundredths, clean, convert, look up the boroughs, project.

    Put the watermark on the result, by `event_time`. Steps whose columns a query does not use cost nothing: Spark drops
    them. A window over the whole city needs neither the boroughs nor the kilometres.
    """
    return (
        typed(rows)
        .selectExpr("*", "cast(round(distance * 100) as bigint) as hundredths")
        .where(POSSIBLE)
        .selectExpr("*", f"hundredths * {KM_PER_HUNDREDTH}D as km")
        .selectExpr("*", f"{_borough('pickup_zone')} as borough", f"{_borough('dropoff_zone')} as to_borough")
        .selectExpr(
            "event_time", "borough", "to_borough", "hundredths", "km", "fare", "passengers", "seconds", *_others(rows)
        )
    )


def mean_distance(
    rows: Any, size_ms: int = 2_000, slide_ms: int = 1_000, by_borough: bool = False, offset_ms: int = 0
) -> Any:
    """The sum, count and mean of the distance per `window`, and per `borough` of the pickup if so wished.

    Columns: window, borough (if so wished), hundredths, trips, mean_miles. Put the watermark on `rows` first.
    """
    _require_windows(size_ms, slide_ms)
    keys = ["window", *(["borough"] if by_borough else [])]
    lengths = ", ".join(f"'{ms} milliseconds'" for ms in (size_ms, slide_ms, offset_ms))
    window = f"window(event_time, {lengths}) as window"
    return (
        rows.selectExpr(window, *keys[1:], "hundredths")
        .groupBy(*keys)
        .agg({"hundredths": "sum", "*": "count"})
        .selectExpr(*keys, "`sum(hundredths)` as hundredths", "`count(1)` as trips")
        .selectExpr("*", "hundredths / trips / 100D as mean_miles")
    )


def _borough(zone: str) -> str:
    """The SQL for the borough's name. Letters beyond the text would be empty, but letter 0 would be the first."""
    letter = f"if({zone} between 1 and {len(ZONES)}, substring('{ZONES}', {zone}, 1), '')"
    pairs = ", ".join(f"'{key}', '{name}'" for key, name in BOROUGHS.items())
    return f"decode({letter}, {pairs}, 'Unknown')"


def _require_windows(size_ms: int, slide_ms: int) -> None:
    if not 1 <= slide_ms <= size_ms:
        raise SettingError("taxi.slide_ms", slide_ms, f"1 up to size_ms = {size_ms}")


# In numpy, without Spark.


@dataclass(frozen=True, eq=False)
class Truth:
    """What `mean_distance(chain(rows))` must say of a feed, whenever its rows arrive."""

    feed: Feed
    size_ms: int = 2_000
    slide_ms: int = 1_000
    by_borough: bool = False
    offset_ms: int = 0  # windows start at whole multiples of the slide plus this

    def __post_init__(self) -> None:
        _require_windows(self.size_ms, self.slide_ms)

    @cached_property
    def panes(self) -> dict[Pane, Sums]:
        """The true sum and count of every pane with a trip in it."""
        event_ms, borough, hundredths = _possible(self.feed)
        if not self.by_borough:
            borough = np.zeros_like(borough)
        # A trip is in every window that starts on the grid of the slide and less than a window's size before it.
        back_ms = np.arange(0, self.size_ms, self.slide_ms)[:, None]
        start_ms = event_ms - (event_ms - self.offset_ms) % self.slide_ms - back_ms
        inside = event_ms < start_ms + self.size_ms
        pane = ((start_ms + self.size_ms) * len(NAMES) + borough)[inside]
        panes, which = np.unique(pane, return_inverse=True)
        # Sums of whole numbers far below 2 ** 53: exact although numpy adds weights as floats.
        miles = np.bincount(which, np.broadcast_to(hundredths, inside.shape)[inside], len(panes)).astype(np.int64)
        counts = np.bincount(which, minlength=len(panes))
        ends, keys = panes // len(NAMES), panes % len(NAMES)
        names = [NAMES[key] if self.by_borough else "" for key in keys.tolist()]
        sums = zip(miles.tolist(), counts.tolist(), strict=True)
        return dict(zip(zip(ends.tolist(), names, strict=True), sums, strict=True))

    def wrong(self, emitted: Mapping[Pane, Sums], until_ms: int | None = None) -> dict[Pane, tuple[Sums, Sums]]:
        """The panes whose emitted sum or count differs from the true ones, with both: `(emitted, true)`.

        A pane that should have been emitted by `until_ms`, or else by the end of the last window seen, and was not,
        counts as (0, 0).
        """
        last_ms = max((end_ms for end_ms, _ in emitted), default=0) if until_ms is None else until_ms
        due = {pane for pane in self.panes if pane[0] <= last_ms}
        both = {pane: (emitted.get(pane, (0, 0)), self.panes.get(pane, (0, 0))) for pane in emitted.keys() | due}
        return {pane: pair for pane, pair in sorted(both.items()) if pair[0] != pair[1]}


def _possible(feed: Feed) -> tuple[Longs, Longs, Longs]:
    """Event time, the pickup borough's place in `NAMES` and hundredths of a mile, of the trips that `POSSIBLE` keeps."""
    fields = json.loads(b"[{%b}]" % b"},{".join(feed.body)) if len(feed) else []
    hundredths = np.rint(_column(fields, "distance") * 100).astype(np.int64)
    seconds = _column(fields, "seconds").astype(np.int64)
    kept = (
        (hundredths >= 1) & (hundredths <= FURTHEST)
        & (_column(fields, "fare") >= 0)
        & (seconds >= 1) & (seconds <= LONGEST_S)
        & (hundredths * 36 <= seconds * 100)
    )  # fmt: skip
    zone = _column(fields, "pickup_zone").astype(np.int64)
    place = np.array([0, *(NAMES.index(BOROUGHS[letter]) for letter in ZONES)])
    borough = place[np.where((zone >= 1) & (zone <= len(ZONES)), zone, 0)]
    return feed.event_ms[kept], borough[kept], hundredths[kept]


def _column(fields: list[dict[str, Any]], name: str) -> NDArray[np.float64]:
    return np.array([row[name] for row in fields], dtype=np.float64)
