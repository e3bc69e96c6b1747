"""Real series of rates, in steps of seconds to days: tweets, page views, requests, and how busy machines were.

A series whose steps are mostly empty has no rate to forecast: it is left out, and counted. Tweets by language are counted in
steps of ten minutes, and the tweets per second once more in such steps, so that a day is 144 of them.
"""

import csv
import io
import lzma
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from headway.model.arrays import Floats
from headway_lab.workloads.data import find

DAY_MS = 86_400_000
TEN_MINUTES_MS = 600_000
LEAST_STEPS = 600
MOST_EMPTY = 0.5  # of its steps

LANGUAGES = "rates/covid_tweets_per_minute_by_language_2022-07_2022-08_derived.csv.xz"
MACHINES = {
    "alibaba": ("rates/dctraces_alibaba2018_machine_usage_days_1_to_8_grouped_30_seconds.csv.xz", 30_000),
    "azure": ("rates/dctraces_azure_v2_vm_cpu_readings_month_aggregated_cpu_mem.csv.xz", 300_000),
    "google": ("rates/dctraces_google2019_instance_usage_grouped_300_seconds_month.csv.xz", 300_000),
}
NAB = "rates/nab_data_labels.tar.xz"
TWITTER = "rates/twitter_stream_2021-08_per_second_workload.tbz2"
WIKIS = "rates/wikimedia_projectcounts_daily_top50wikis.tar.xz"


@dataclass(frozen=True, slots=True, eq=False)
class RateSeries:
    """One series: how long its steps are, and the rate in each."""

    family: str
    name: str
    step_ms: int
    values: Floats

    @property
    def dense(self) -> bool:
        """Whether it is long enough, and says something in most of its steps."""
        return len(self.values) >= LEAST_STEPS and float(np.mean(self.values == 0)) <= MOST_EMPTY


def all_series() -> tuple[list[RateSeries], list[RateSeries]]:
    """Every series of the data folder: those that have a rate to forecast, and those left out."""
    every = [*_languages(), *_machines(), *_nab(), *_twitter(), *_wikis()]
    return [one for one in every if one.dense], [one for one in every if not one.dense]


def _languages() -> Iterator[RateSeries]:
    """Minutes without a tweet are not in the file."""
    counts: dict[str, list[tuple[int, float]]] = {}
    with lzma.open(find(LANGUAGES), "rt") as lines:
        for row in csv.DictReader(lines):
            at = int(datetime.fromisoformat(row["minute_utc"] + "+00:00").timestamp() * 1000) // TEN_MINUTES_MS
            counts.setdefault(row["language"], []).append((at, float(row["tweets"])))
    first = min(at for told in counts.values() for at, _ in told)
    steps = max(at for told in counts.values() for at, _ in told) - first + 1
    for language, told in sorted(counts.items()):
        minutes, tweets = zip(*told, strict=True)
        values = np.zeros(steps)
        np.add.at(values, np.array(minutes) - first, np.array(tweets))
        yield RateSeries("tweets by language", language, TEN_MINUTES_MS, values)


def _machines() -> Iterator[RateSeries]:
    for name, (file, step_ms) in MACHINES.items():
        with lzma.open(find(file), "rt") as lines:
            rows = list(csv.DictReader(lines))
        for column in rows[0]:
            if column != "timestamp":
                yield RateSeries("machines", f"{name} {column}", step_ms, _filled([row[column] for row in rows]))


def _nab() -> Iterator[RateSeries]:
    for name, text in _members(find(NAB).read_bytes(), ".csv"):
        rows = list(csv.DictReader(io.StringIO(text)))
        times = [datetime.fromisoformat(row["timestamp"]).timestamp() for row in rows]
        step_ms = round(float(np.median(np.diff(times))) * 1000)
        folder, _, file = name.removeprefix("data/").rpartition("/")
        family = "NAB, synthetic" if folder.startswith("artificial") else "NAB"
        yield RateSeries(family, file.removesuffix(".csv"), step_ms, _filled([row["value"] for row in rows]))


def _twitter() -> Iterator[RateSeries]:
    ((_, text),) = _members(find(TWITTER).read_bytes(), ".txt")
    values = np.array(text.split(), dtype=np.float64)
    yield RateSeries("tweets per second", "all", 1000, values)
    whole = len(values) // 600 * 600
    yield RateSeries("tweets per second", "by ten minutes", TEN_MINUTES_MS, values[:whole].reshape(-1, 600).sum(axis=1))


def _wikis() -> Iterator[RateSeries]:
    for name, text in _members(find(WIKIS).read_bytes(), ".csv"):
        rows = list(csv.DictReader(io.StringIO(text)))
        views = _filled([row["Total"] for row in rows])
        yield RateSeries("page views by wiki", name.removeprefix("daily/").removesuffix(".csv"), DAY_MS, views)


def _members(archive: bytes, ending: str) -> Iterator[tuple[str, str]]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in sorted(files.getmembers(), key=lambda one: str(one.name)):
            text = files.extractfile(member) if member.name.endswith(ending) else None
            if text is not None:
                yield member.name, text.read().decode()


def _filled(texts: list[str]) -> Floats:
    """A step that is missing is what the one before it was."""
    values = np.array([float(text) if text else np.nan for text in texts])
    known = np.flatnonzero(~np.isnan(values))
    return np.asarray(values[known[np.maximum(0, np.searchsorted(known, np.arange(len(values)), "right") - 1)]])
