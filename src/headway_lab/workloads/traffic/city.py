"""Real buses of Dublin and Austin, real roads of Aarhus: on the local clock of each city, area by area.

What bites in the files:

- Dublin (SIRI, 31 January 2013, 10,000 rows, 259 buses): whole seconds, in order, no header. Four rows in five are of the
  hour after midnight; then come some of 2 o'clock, and those of a few minutes after 6. Buses tell by how much they are
  behind their timetable and whether they are in congestion (36 rows do), but no speed.
- Austin (CapMetro, Sunday 6 September 2015, 53,569 rows, 146 buses): grouped by trip, so sorted here; a hole from 10 to 11.
  Speeds are taken for miles an hour. One row in eight stands still, at a stop or in a queue: there is no telling which.
- Aarhus (CityPulse, August and September 2014, 65 sensors every 5 minutes): times are UTC, two hours behind the city's
  clock, as its rush hours show, and all sensors report at the same moment. Nearly half of the rows count no car and tell a
  speed all the same. Some 200 rows come twice. What is normal on a road is in a table of its own.
"""

import tarfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd

from headway.errors import SettingError
from headway_lab.workloads.data import find
from headway_lab.workloads.feed import Feed, Longs
from headway_lab.workloads.traffic.areas import Areas

DAY_MS, HOUR_MS = 86_400_000, 3_600_000
KMH_PER_MPH = 1.609344
ACROSS = 4  # columns of areas: 65 sensors are some four to an area

DUBLIN, AUSTIN = "city/dublin_siri.20130131_first9999.csv.xz", "city/capmetro_austin_vehicle_positions_2015-09-06.csv.xz"
AARHUS = "city/citypulse_aarhus_traffic65_parking_weather.tar.xz"
SIRI = (
    "timestamp_us line direction journey_pattern time_frame vehicle_journey operator congestion lon lat delay_s block"
    " vehicle stop at_stop"
)
AARHUS_AHEAD_MS = 2 * HOUR_MS  # of UTC, in summer
FIRST, LAST = date(2014, 8, 2), date(2014, 9, 30)  # whole days

DUBLIN_BODY = b'"vehicle":"%d","area":%d,"lon":%.5f,"lat":%.5f,"delay_s":%d,"congested":%b'
AUSTIN_BODY = b'"vehicle":"%d","area":%d,"lon":%.5f,"lat":%.5f,"speed_kmh":%d'
ROAD_BODY = b'"sensor":"%d","area":%d,"lon":%.5f,"lat":%.5f,"speed_kmh":%d,"normal_kmh":%d,"vehicles":%d'


def dublin(across: int = ACROSS) -> Feed:
    """One night of Dublin's buses: delays and congestion flags."""
    columns = ["timestamp_us", "vehicle", "lon", "lat", "delay_s", "congestion"]
    frame = pd.read_csv(find(DUBLIN), header=None, names=SIRI.split(), usecols=columns)
    flags = [b"true" if flag else b"false" for flag in frame["congestion"].tolist()]
    rest = (frame["delay_s"].tolist(), flags)
    return _feed(
        "bus-dublin", frame, "vehicle", frame["timestamp_us"].to_numpy(dtype=np.int64) // 1_000, DUBLIN_BODY, rest, across
    )


def austin(across: int = ACROSS) -> Feed:
    """One day of Austin's buses: speeds."""
    frame = pd.read_csv(find(AUSTIN)).rename(columns={"vehicle_id": "vehicle", "longitude": "lon", "latitude": "lat"})
    local = pd.to_datetime(frame["timestamp"].str[:19])  # the hour of the city, whatever its zone
    speed = np.rint(frame["speed"] * KMH_PER_MPH).astype(int).tolist()
    return _feed("bus-austin", frame, "vehicle", _ms(local), AUSTIN_BODY, (speed,), across)


def aarhus(day: str = "2014-09-07", across: int = ACROSS) -> Feed:
    """One day of Aarhus' road sensors: speeds, and how many cars they are of."""
    since_ms = _midnight(day)
    parts = []
    with tarfile.open(find(AARHUS)) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is None:
                continue
            if member.name.endswith("trafficMetaData.csv"):
                roads = pd.read_csv(file).set_index("REPORT_ID")
            elif "TrafficData" in member.name:
                frame = pd.read_csv(file, usecols=["TIMESTAMP", "REPORT_ID", "avgSpeed", "vehicleCount"])
                frame["at"] = _ms(pd.to_datetime(frame["TIMESTAMP"])) + AARHUS_AHEAD_MS
                parts.append(frame[frame["at"].between(since_ms, since_ms + DAY_MS - 1)])
    frame = pd.concat(parts).drop_duplicates(["REPORT_ID", "at"]).rename(columns={"REPORT_ID": "sensor"})
    for name, of in (("lon", "LNG"), ("lat", "LAT")):  # halfway between the two points of a sensor
        frame[name] = frame["sensor"].map((roads[f"POINT_1_{of}"] + roads[f"POINT_2_{of}"]) / 2)
    normal = frame["sensor"].map(roads["NDT_IN_KMH"])
    rest = (frame["avgSpeed"].tolist(), normal.tolist(), frame["vehicleCount"].tolist())
    return _feed("road-aarhus", frame, "sensor", frame["at"].to_numpy(dtype=np.int64), ROAD_BODY, rest, across)


def one_city(bus: Feed, road: Feed, base_ms: int, speed: float, hour: float = 0.0) -> tuple[Feed, Feed]:
    """Both on one clock, as if of one city and one day: `hour` o'clock at `base_ms`, then `speed` times as fast."""
    if not speed > 0:
        raise SettingError("speed", speed, "more than 0, e.g. 400 for four hundred times as fast")
    if not 0 <= hour < 24:
        raise SettingError("hour", hour, "an hour of the day, 0 to 23")
    return _from_hour(bus, base_ms, speed, hour), _from_hour(road, base_ms, speed, hour)


def _from_hour(feed: Feed, base_ms: int, speed: float, hour: float) -> Feed:
    if not len(feed):
        return feed
    begins_ms = int(feed.event_ms.min()) // DAY_MS * DAY_MS + round(hour * HOUR_MS)
    feed = feed.between(begins_ms, begins_ms + DAY_MS)
    event, arrival = (base_ms + np.floor((t - begins_ms) / speed).astype(np.int64) for t in (feed.event_ms, feed.arrival_ms))
    return replace(feed, event_ms=event, arrival_ms=arrival)


def _feed(
    name: str,
    frame: pd.DataFrame,
    key_column: str,
    at_ms: Longs,
    body: bytes,
    rest: tuple[Sequence[object], ...],
    across: int,
) -> Feed:
    """Reports known at once, each with its area among those of its own city."""
    lon, lat = (frame[column].to_numpy(dtype=np.float64) for column in ("lon", "lat"))
    area = Areas.fitted(lon, lat, across).of(lon, lat)
    fields = zip(frame[key_column].tolist(), area.tolist(), lon.tolist(), lat.tolist(), *rest, strict=True)
    keys = [b"%d" % number for number in frame[key_column].tolist()]
    return Feed.of(name, at_ms, at_ms, [body % row for row in fields], keys)


def _midnight(day: str) -> int:
    try:
        wanted = date.fromisoformat(day)
    except ValueError:
        wanted = date.min
    if not FIRST <= wanted <= LAST:
        raise SettingError("aarhus.day", day, f"a day from {FIRST} to {LAST}")
    return int(np.datetime64(wanted, "ms").astype(np.int64))


def _ms(times: pd.Series) -> Longs:
    return times.to_numpy().astype("datetime64[ms]").astype(np.int64)
