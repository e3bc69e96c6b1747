"""What a trip is, and the real ones: from the files, in time order, known at once or when they ended."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from headway.errors import SettingError
from headway_lab.workloads.data import find
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.hashing import Longs

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


def trips(months: Sequence[int] = (1,)) -> Feed:
    """The trips of some months of 2023, each known at once: a stream in order."""
    read = _read(months)
    return Feed.of("taxi", read.pickup_ms, read.pickup_ms, read.body)


def late_trips(months: Sequence[int] = (1,), longest_s: int = LONGEST_S) -> Feed:
    """The trips of some months of 2023, each known when it ended: a stream as late as trips are long.

    Without those that ended before they began or took longer than `longest_s`; `left_out` counts them. A meter left
    running overnight would otherwise make a watermark that waits for all vehicles wait for a day.
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
class _FileRows:
    pickup_ms: Longs
    dropoff_ms: Longs
    body: list[bytes]
    stray: int


def _read(months: Sequence[int]) -> _FileRows:
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
    body = bodies(
        frame["distance"].tolist(),
        frame["fare"].tolist(),
        passengers.tolist(),
        frame["pickup_zone"].tolist(),
        frame["dropoff_zone"].tolist(),
        ((dropoff_ms - pickup_ms) // 1_000).tolist(),
    )
    return _FileRows(pickup_ms, dropoff_ms, body, rows - len(frame))


COLUMNS = {
    "lpep_pickup_datetime": "pickup",
    "lpep_dropoff_datetime": "dropoff",
    "trip_distance": "distance",
    "fare_amount": "fare",
    "passenger_count": "passengers",
    "PULocationID": "pickup_zone",
    "DOLocationID": "dropoff_zone",
}


def bodies(
    miles: list[float], fare: list[float], passengers: list[int], pickup: list[int], dropoff: list[int], seconds: list[int]
) -> list[bytes]:
    """Fewer than no passengers stand for an unknown number."""
    known = [b"null" if n < 0 else b"%d" % n for n in passengers]
    return [BODY % row for row in zip(miles, fare, known, pickup, dropoff, seconds, strict=True)]
