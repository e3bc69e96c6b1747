"""Every stream that can be replayed, by name: generated ones at a chosen rate, recorded ones at a chosen speed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headway.errors import SettingError
from headway.sim.delays import Constant, Delay
from headway_lab.workloads import phones, taxi
from headway_lab.workloads.bio import ecg, thorax
from headway_lab.workloads.bio.load_profiles import LoadProfile, RecurringRate, SteadyRate
from headway_lab.workloads.bio.paced import PacedRecord, paced_ecg, paced_thorax
from headway_lab.workloads.bus_delays import Growing, Holdup, Periodic
from headway_lab.workloads.feed import Feed, merged
from headway_lab.workloads.linear_road import reports
from headway_lab.workloads.linear_road.traffic import Traffic
from headway_lab.workloads.traffic import Streets, city
from headway_lab.workloads.ysb import Ysb

REPORTS = 40  # of each vehicle
PIECE_MS = 1_000  # generated streams are made a second at a time, however long they are


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """How a stream is to be replayed."""

    base_ms: int  # its first event happens then
    seconds: int
    rate: int = 1_000  # rows a second, of a generated one
    speed: float = 1.0  # of a recorded one, compared with how it happened
    delay: Delay = Constant(0)  # how long each row is held back, over what was recorded
    seed: int = 1

    @property
    def until_ms(self) -> int:
        return self.base_ms + self.seconds * 1_000


def _generated(make: Callable[[int, int], Feed], wanted: ReplayRequest) -> Iterator[tuple[int, Feed]]:
    for since_ms in range(wanted.base_ms, wanted.until_ms, PIECE_MS):
        yield since_ms, make(since_ms, min(since_ms + PIECE_MS, wanted.until_ms))


def _ysb(wanted: ReplayRequest) -> Iterator[Feed]:
    return (piece for _, piece in _generated(Ysb(wanted.seed, wanted.rate, wanted.base_ms, wanted.delay).feed, wanted))


def _taxis(wanted: ReplayRequest) -> Iterator[Feed]:
    cabs = taxi.Taxis(wanted.seed, wanted.rate, wanted.base_ms, wanted.delay)
    return (piece for _, piece in _generated(cabs.feed, wanted))


def _traffic(wanted: ReplayRequest) -> Iterator[Feed]:
    cars = traffic(wanted)

    def make(since_ms: int, until_ms: int) -> Feed:
        return cars.feed(since_ms, until_ms).delayed(wanted.delay, wanted.seed + since_ms)

    return merged(_generated(make, wanted))


def traffic(wanted: ReplayRequest) -> Traffic:
    """Steady traffic with so many reports a second; to be quick about it, a vehicle reports every 3 s instead of 30."""
    return Traffic(wanted.seed, wanted.base_ms, wanted.rate / REPORTS, reports=REPORTS, every_ms=3_000, steady=True)


def _streets(
    pick: Callable[[Streets], Callable[[int, int], Feed]], holdup: Holdup
) -> Callable[[ReplayRequest], Iterator[Feed]]:
    """Buses or roads. Rows that are held up may come in long after the stream's end, so the last piece has them all."""

    def make(wanted: ReplayRequest) -> Iterator[Feed]:
        streets = Streets(wanted.seed, wanted.base_ms, wanted.seconds, wanted.rate, holdup)
        reports = pick(streets)
        last_ms = int(streets.bus_arrivals[-1]) + 1

        def piece(since_ms: int, until_ms: int) -> Feed:
            until_ms = max(until_ms, last_ms) if until_ms == wanted.until_ms else until_ms
            return reports(since_ms, until_ms).delayed(wanted.delay, wanted.seed + since_ms)

        return merged(_generated(piece, wanted))

    return make


def _recorded(read: Callable[[], Feed]) -> Callable[[ReplayRequest], Iterator[Feed]]:
    def make(wanted: ReplayRequest) -> Iterator[Feed]:
        feed = read().rebased(wanted.base_ms, wanted.speed).between(wanted.base_ms, wanted.until_ms)
        yield feed.delayed(wanted.delay, wanted.seed)

    return make


def _paced(
    make: Callable[[LoadProfile, int], PacedRecord], profile: Callable[[ReplayRequest], LoadProfile]
) -> Callable[[ReplayRequest], Iterator[Feed]]:
    """Recorded rows, as many a second as were asked for."""

    def pieces(wanted: ReplayRequest) -> Iterator[Feed]:
        paced = make(profile(wanted), wanted.base_ms)

        def piece(since_ms: int, until_ms: int) -> Feed:
            return paced.feed(since_ms, until_ms).delayed(wanted.delay, wanted.seed + since_ms)

        return merged(_generated(piece, wanted))

    return pieces


def _steady(wanted: ReplayRequest) -> LoadProfile:
    return SteadyRate(wanted.rate, seed=wanted.seed)


def _recurring(wanted: ReplayRequest) -> LoadProfile:
    return RecurringRate(wanted.rate, seed=wanted.seed)


FEEDS: dict[str, Callable[[ReplayRequest], Iterator[Feed]]] = {
    "ysb": _ysb,
    "taxi": _taxis,
    "linear-road": _traffic,
    "traffic-bus": _streets(lambda streets: streets.bus, Periodic()),
    "traffic-bus-growing": _streets(lambda streets: streets.bus, Growing()),
    "traffic-road": _streets(lambda streets: streets.road, Periodic()),
    "taxi-real": _recorded(taxi.trips),
    "taxi-late": _recorded(taxi.late_trips),
    "linear-road-real": _recorded(reports.recorded_reports),
    "bus-dublin": _recorded(city.dublin),
    "bus-austin": _recorded(city.austin),
    "road-aarhus": _recorded(city.aarhus),
    "phones-1": _recorded(lambda: phones.phones(1)),
    "phones-2": _recorded(lambda: phones.phones(2)),
    "phones-3": _recorded(lambda: phones.phones(3)),
    "thorax-real": _recorded(thorax.feed),
    "ecg-real": _recorded(ecg.feed),
    "thorax": _paced(paced_thorax, _steady),
    "thorax-recurring": _paced(paced_thorax, _recurring),
    "ecg": _paced(paced_ecg, _steady),
    "ecg-recurring": _paced(paced_ecg, _recurring),
}


def feed_named(name: str, wanted: ReplayRequest) -> Iterator[Feed]:
    """The stream of that name, piece by piece in the order of arrival."""
    if name not in FEEDS:
        raise SettingError("feed", name, f"one of {', '.join(FEEDS)}")
    if wanted.seconds < 1 or wanted.rate < 1:
        raise SettingError("seconds, rate", (wanted.seconds, wanted.rate), "1 or more each")
    return FEEDS[name](wanted)
