"""A wide area out of real measurements: eight data centres, eight edges near them, links that change, tweets by country.

Between data centres: throughput, round trips and prices that Skyplane measured and collected. Its throughput is of 64
connections; a stream has one. How links change with time: tests of the same link one after another, by CloudPilot. Of
edges nothing was measured: theirs is the public Internet, some 9 Mbit/s to the nearest data centre as the paper has it
from Akamai, and to the others as much less as those are further off.
"""

import csv
import lzma
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache

import numpy as np

from headway.model.area import LOCAL, Area, Links, Site
from headway.model.arrays import Floats
from headway_lab.workloads.data import find

THROUGHPUT = "wan/skyplane_throughput_2022-01_derived.csv.xz"
LATENCY = "wan/skyplane_latency.csv.xz"
PRICE = "wan/skyplane_egress_cost_usd_per_gb.csv.xz"
OVER_TIME = "wan/cloudpilot_iperf3_1s_derived.csv.xz"
TWEETS = "geo/covid_tweets_place-tagged_2022-07_2022-08.csv.xz"
LANGUAGES = "rates/covid_tweets_per_minute_by_language_2022-07_2022-08_derived.csv.xz"

REGIONS = {
    "oregon": "aws:us-west-2", "ohio": "aws:us-east-2", "ireland": "aws:eu-west-1", "frankfurt": "aws:eu-central-1",
    "seoul": "aws:ap-northeast-2", "singapore": "aws:ap-southeast-1", "mumbai": "aws:ap-south-1",
    "sao-paulo": "aws:sa-east-1",
}  # fmt: skip
DCS = tuple(REGIONS)
EDGES = tuple(f"edge-{name}" for name in DCS)
DC_SLOTS = 8
CONNECTIONS = 64
EDGE_BITS, EDGE_SPREAD = 9e6, 0.4  # to the nearest data centre; how much edges differ (of a logarithm)
EDGE_MS = 10.0  # from an edge to it
WARM_UP_S = 3  # of a test, in which a connection is still growing
LEAST_TESTS = 100  # of a link one after another
LOW, HIGH = 0.51, 2.36  # the range of the paper's trace
# Countries by the data centre that is nearest to most of their people; all others go by the seed.
NEAREST = {
    "oregon": ("MX",), "ohio": ("US", "CA"), "ireland": ("GB", "IE", "ES", "PT", "FR", "NG", "GH"),
    "frankfurt": ("DE", "IT", "NL", "BE", "AT", "CH", "PL", "TR", "SE", "GR", "ZA", "KE"), "seoul": ("JP", "KR", "TW"),
    "singapore": ("PH", "MY", "ID", "TH", "SG", "AU", "NZ", "VN"), "mumbai": ("IN", "PK", "BD", "LK", "NP", "AE", "SA"),
    "sao-paulo": ("BR", "AR", "CL", "CO", "PE", "VE"),
}  # fmt: skip


def area_of(seed: int) -> Area:
    """Sixteen sites: eight edges with two to four slots, eight data centres with eight."""
    rng = np.random.default_rng([seed, 21])
    between = _table(THROUGHPUT, ("src_region", "dst_region"), "bits_per_s_received") / CONNECTIONS
    trip = _table(LATENCY, ("src_region", "dst_region"), "avg_rtt") / 2
    price = _table(PRICE, ("src", "dest"), "cost")
    n, m = len(DCS), 2 * len(DCS)
    bits, ms, usd = np.zeros((m, m)), np.zeros((m, m)), np.zeros((m, m))
    bits[n:, n:], ms[n:, n:], usd[n:, n:] = between, trip, price
    access = EDGE_BITS * np.exp(EDGE_SPREAD * rng.standard_normal(n))
    for e in range(n):
        # As the throughput of one connection falls with the distance between data centres, so does that of an edge.
        share = np.where(np.arange(n) == e, 1.0, between[e] / between[e].max())
        for d in range(n):
            up, down = access[e] * share[d] * rng.uniform(0.7, 1.3, 2)
            bits[e, n + d], bits[n + d, e] = up, down
            ms[e, n + d] = ms[n + d, e] = EDGE_MS + (trip[e, d] if e != d else 0.0)
            usd[e, n + d], usd[n + d, e] = price[e, d], price[d, e]
        for other in range(n):
            if other != e:
                bits[e, other] = min(access[e], access[other]) * share[other] * rng.uniform(0.7, 1.3)
                ms[e, other] = 2 * EDGE_MS + trip[e, other]
                usd[e, other] = price[e, other]
    np.fill_diagonal(bits, 8 * LOCAL)
    slots = [*rng.integers(2, 5, n).tolist(), *[DC_SLOTS] * n]
    sites = tuple(Site(name, int(k)) for name, k in zip((*EDGES, *DCS), slots, strict=True))
    return Area(sites, Links(ms, bits / 8, usd, np.zeros((m, m))))


def _table(file: str, keys: tuple[str, str], value: str) -> Floats:
    """Between the eight regions, from and to."""
    at = {region: place for place, region in enumerate(REGIONS.values())}
    out = np.zeros((len(at), len(at)))
    with lzma.open(find(file), "rt") as lines:
        for row in csv.DictReader(lines):
            if row[keys[0]] in at and row[keys[1]] in at:
                out[at[row[keys[0]]], at[row[keys[1]]]] = float(row[value])
    return out


@cache
def link_traces() -> tuple[Floats, ...]:
    """Of each link that was tested often: the throughput of test after test, over its median."""
    tests: dict[tuple[str, str], dict[tuple[float, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    with lzma.open(find(OVER_TIME), "rt") as lines:
        for row in csv.DictReader(lines):
            if row["via"] == "direct" and float(row["t_offset_s"]) >= WARM_UP_S:
                test = (float(row["epoch_s"]), row["path"])
                tests[row["src"], row["dst"]][test].append(float(row["bits_per_second"]))
    out = []
    for _, by_test in sorted(tests.items()):
        means = np.array([np.mean(by_test[test]) for test in sorted(by_test)])
        if len(means) >= LEAST_TESTS and np.median(means) > 0:
            out.append(np.clip(means / np.median(means), LOW, HIGH))
    return tuple(out)


def link_factors(seed: int, sites: int, steps: int, step_ms: int, hold_ms: int = 60_000) -> Floats:
    """For every link a piece of a trace; each test's figure holds for a minute."""
    rng, traces = np.random.default_rng([seed, 22]), link_traces()
    out = np.ones((steps, sites, sites))
    at = np.arange(steps) * step_ms // hold_ms
    for a in range(sites):
        for b in range(sites):
            if a != b:
                trace = traces[int(rng.integers(len(traces)))]
                out[:, a, b] = trace[(at + int(rng.integers(len(trace)))) % len(trace)]
    return out


@cache
def tweets_by_edge() -> dict[str, float]:
    """Share of the place-tagged tweets that each edge has, by their countries."""
    counts: Counter[str] = Counter()
    with lzma.open(find(TWEETS), "rt", errors="replace") as lines:
        for row in csv.DictReader(lines):
            counts[row["Country"]] += 1
    edge_of = {country: f"edge-{name}" for name, countries in NEAREST.items() for country in countries}
    sums: Counter[str] = Counter(dict.fromkeys(EDGES, 0))
    for country, n in sorted(counts.items()):
        edge = edge_of.get(country) or EDGES[sum(country.encode()) % len(EDGES)]
        sums[edge] += n
    total = sum(sums.values())
    return {edge: n / total for edge, n in sums.items()}


@dataclass(frozen=True, slots=True)
class RateRange:
    """Into which a series is brought."""

    low: float = 0.8
    high: float = 2.4


@cache
def language_series(count: int) -> tuple[Floats, ...]:
    """Tweets in steps of ten minutes of the most frequent languages, smoothed over half an hour."""
    from headway_lab.workloads.rates import all_series

    dense, _ = all_series()
    mine = [one for one in dense if one.family == "tweets by language"]
    mine.sort(key=lambda one: -float(one.values.sum()))
    width = np.ones(3) / 3
    return tuple(np.convolve(one.values, width, mode="same") for one in mine[:count])


def rate_factors(
    seed: int, sources: int, steps: int, step_ms: int, within: RateRange | None = None, hold_ms: int = 60_000
) -> Floats:
    """For every source some hours of tweets in one language, a step of ten minutes in a minute, between 0.8 and 2.4."""
    within = within or RateRange()
    rng, series = np.random.default_rng([seed, 23]), language_series(8)
    need = steps * step_ms // hold_ms + 1
    out = np.ones((steps, sources))
    at = np.arange(steps) * step_ms // hold_ms
    for source in range(sources):
        values = series[source % len(series)]
        first = int(rng.integers(len(values) - need))
        piece = values[first : first + need]
        low, high = np.quantile(values, 0.1), np.quantile(values, 0.9)
        scaled = within.low + (within.high - within.low) * np.clip((piece - low) / (high - low), 0, 1)
        out[:, source] = scaled[at]
    return out
