"""The Yahoo streaming benchmark, with its generator inside the engine and its true answer known beforehand.

Event `i` is a pure function of the seed and `i`: it happens `i * 1000 // rate` ms after the epoch, or by a table of unequal
gaps, and disjoint bits of one hash say which ad it shows, of which type it is and how long the network holds it back. Spark
expands intervals of arrival time into events in SQL; numpy computes the same events on its own, and so knows every count.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from headway.errors import SettingError
from headway.sim.delays import Delay
from headway_lab.workloads.event_times import EventTimes
from headway_lab.workloads.feed import Feed, parsed
from headway_lab.workloads.hashing import Longs, take_bits, xxhash64
from headway_lab.workloads.sql import choice, entry, hash_bits

AdPane = tuple[int, int]  # the end of a window in event-time ms, and a campaign

EVENT_TYPES = ("view", "click", "purchase")
AD_TYPES = ("banner", "modal", "sponsored-search", "mail", "mobile")
USERS = PAGES = 100
SCHEMA = (
    "event_ms bigint, user_id string, page_id string, ad_id string, ad_type string, event_type string, ip_address string"
)

# Which bits of an event's hash say what: (first bit, width). The delay's index is the lowest ten bits, 0 .. 1023.
DELAY_BITS, AD_BITS, TYPE_BITS, AD_TYPE_BITS, USER_BITS, PAGE_BITS = (
    (0, 10),
    (10, 20),
    (30, 10),
    (40, 8),
    (48, 8),
    (56, 8),
)

# An interval after a long stall may hold millions of events; they are made in pieces of this many.
PIECE = 4_096


@dataclass(frozen=True)
class Ysb:
    """One advertiser's stream of views, clicks and purchases, and the count of views per campaign and window."""

    seed: int
    rate: int  # events per second
    epoch_ms: int  # event time of event 0
    delay: Delay
    window_ms: int = 3_000
    offset_ms: int = 0  # windows start at whole multiples of window_ms plus this
    campaigns: int = 100
    ads_per_campaign: int = 10
    join: Literal["lookup", "table"] = "lookup"
    # When the events of a block happen, in thousandths of a mean gap from its start; the next block follows with the same
    # gaps. Empty: evenly.
    gaps: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("rate", "window_ms", "campaigns", "ads_per_campaign"):
            if getattr(self, name) < 1:
                raise SettingError(f"ysb.{name}", getattr(self, name), "1 or more")
        if not 0 <= self.offset_ms < self.window_ms:
            raise SettingError("ysb.offset_ms", self.offset_ms, f"0 up to, not including, window_ms = {self.window_ms}")
        if self.ads > 1 << AD_BITS[1]:
            raise SettingError("ysb.ads_per_campaign", self.ads_per_campaign, f"at most {1 << AD_BITS[1]} ads in all")
        block = self.times.block
        if (self.gaps and not 0 <= self.gaps[0] <= self.gaps[-1] < block) or list(self.gaps) != sorted(self.gaps):
            raise SettingError("ysb.gaps", f"{len(self.gaps)} numbers", f"ascending, from 0 on and below {block}")

    @cached_property
    def times(self) -> EventTimes:
        return EventTimes(self.rate, self.epoch_ms, self.gaps)

    @property
    def ads(self) -> int:
        return self.campaigns * self.ads_per_campaign

    @cached_property
    def campaign_of(self) -> Longs:
        """The campaign of each ad: dealt out in an order that the seed decides, so that no arithmetic can guess it."""
        order = np.argsort(xxhash64(self.seed, -1 - np.arange(self.ads)), kind="stable")
        dealt = np.empty(self.ads, dtype=np.int64)
        dealt[order] = np.arange(self.ads) // self.ads_per_campaign
        return dealt

    # In Spark.

    def options(self) -> dict[str, str]:
        """What the source of ad events in Headway's jar needs to know."""
        return {
            "seed": str(self.seed),
            "rate": str(self.rate),
            "epoch": str(self.epoch_ms),
            "delays": ",".join(map(str, self.delay.table().tolist())),
            "ads": str(self.ads),
            "ad_types": ",".join(AD_TYPES),
            "event_types": ",".join(EVENT_TYPES),
        } | ({"gaps": ",".join(map(str, self.gaps))} if self.gaps else {})

    def expand(self, intervals: Any) -> Any:
        """The events that arrive in the intervals `[since, until)`, given in ms by the rows of a DataFrame.

        `headway_lab.workloads.events.events` makes a live stream of it.

        Columns that a query does not use cost nothing: Spark drops them before it makes them.
        """
        candidates = (
            intervals.selectExpr("since", "until", *self.times.candidates_sql(self.delay.max_ms))
            .where("first <= last")  # a sequence whose end is before its start would count down
            .selectExpr("since", "until", "last", f"explode(sequence(first, last, {PIECE}L)) as first")
            .selectExpr("since", "until", f"explode(sequence(first, least(first + {PIECE - 1}L, last))) as i")
        )
        return (
            candidates.selectExpr(
                "since",
                "until",
                f"{self.times.event_ms_sql()} as event_ms",
                f"xxhash64({self.seed}L, i) as h",
            )
            .selectExpr("*", f"event_ms + {entry(self.delay.table(), hash_bits(DELAY_BITS))} as arrival_ms")
            # since <= arrival < until, naming arrival once: Spark would copy it, table and hash and all, into each
            # mention. Without its sign bit a negative number is larger than any interval is long.
            .where(f"((arrival_ms - since) & {(1 << 63) - 1}L) < until - since")
            .selectExpr(
                "timestamp_millis(event_ms) as event_time",
                "timestamp_millis(arrival_ms) as arrival",
                f"cast({hash_bits(USER_BITS)} % {USERS} as string) as user_id",
                f"cast({hash_bits(PAGE_BITS)} % {PAGES} as string) as page_id",
                f"cast({hash_bits(AD_BITS)} % {self.ads} as string) as ad_id",
                choice(AD_TYPES, AD_TYPE_BITS) + " as ad_type",
                choice(EVENT_TYPES, TYPE_BITS) + " as event_type",
                "'1.2.3.4' as ip_address",
            )
        )

    @staticmethod
    def parsed(records: Any) -> Any:
        """The events in column `value`, beside the other columns."""
        return parsed(records, SCHEMA)

    def counts(self, events: Any) -> Any:
        """The views per `window` and `campaign_id`. Put the watermark on `events` first."""
        window = f"'{self.window_ms} milliseconds'"
        views = events.where("event_type = 'view'")
        if self.join == "lookup":
            joined = views.selectExpr("*", f"{entry(self.campaign_of, 'cast(ad_id as int)')} as campaign_id")
        else:
            joined = views.join(self.ad_table(events.sparkSession).hint("broadcast"), "ad_id")
        return (
            joined.selectExpr(
                f"window(event_time, {window}, {window}, '{self.offset_ms} milliseconds') as window", "campaign_id"
            )
            .groupBy("window", "campaign_id")
            .count()
        )

    def ad_table(self, spark: Any) -> Any:
        """The static table of ads: `ad_id`, `campaign_id`."""
        rows = [(str(ad), int(campaign)) for ad, campaign in enumerate(self.campaign_of)]
        return spark.createDataFrame(rows, "ad_id string, campaign_id long")

    # As rows of a log.

    def feed(self, since_ms: int, until_ms: int) -> Feed:
        """The events that arrive from `since_ms` up to, not including, `until_ms`: one feed after the other loses none."""
        first = self.times.count_before(since_ms - self.delay.max_ms)
        i = np.arange(first, max(first, self.times.count_before(until_ms)))
        h = xxhash64(self.seed, i)
        event_ms = self.times.event_ms(i)
        arrival_ms = event_ms + self.delay.table()[take_bits(h, DELAY_BITS)]
        kept = (arrival_ms >= since_ms) & (arrival_ms < until_ms)
        h, event_ms, arrival_ms = h[kept], event_ms[kept], arrival_ms[kept]
        fields = zip(
            *(take_bits(h, bits) % size for bits, size in
              ((USER_BITS, USERS), (PAGE_BITS, PAGES), (AD_BITS, self.ads), (AD_TYPE_BITS, len(AD_TYPES)),
               (TYPE_BITS, len(EVENT_TYPES)))),
            strict=True,
        )  # fmt: skip
        body = [
            b'"user_id":"%d","page_id":"%d","ad_id":"%d","ad_type":"%s","event_type":"%s","ip_address":"1.2.3.4"'
            % (user, page, ad, AD_TYPES[kind].encode(), EVENT_TYPES[event].encode())
            for user, page, ad, kind, event in fields
        ]
        return Feed.of("ysb", event_ms, arrival_ms, body)

    # In numpy, without Spark.

    def truth(self, until_ms: int) -> dict[AdPane, int]:
        """The true count of every pane with a view whose event time is before `until_ms`."""
        counts: Counter[AdPane] = Counter()
        for i in _pieces(self.times.count_before(until_ms)):
            h = xxhash64(self.seed, i)
            seen = take_bits(h, TYPE_BITS) % len(EVENT_TYPES) == EVENT_TYPES.index("view")
            event_ms = self.times.event_ms(i[seen])
            end_ms = event_ms - (event_ms - self.offset_ms) % self.window_ms + self.window_ms
            campaign = self.campaign_of[take_bits(h[seen], AD_BITS) % self.ads]
            panes, sizes = np.unique(end_ms * self.campaigns + campaign, return_counts=True)
            for pane, size in zip(panes.tolist(), sizes.tolist(), strict=True):
                counts[divmod(pane, self.campaigns)] += size
        return dict(counts)

    def wrong(self, emitted: Mapping[AdPane, int]) -> dict[AdPane, tuple[int, int]]:
        """The panes whose emitted count differs from the true one, with both: `(emitted, true)`.

        A pane that should have been emitted by the end of the last window seen, and was not, counts as 0.
        """
        last_ms = max((end_ms for end_ms, _ in emitted), default=self.epoch_ms)
        true = {pane: count for pane, count in self.truth(last_ms).items() if pane[0] <= last_ms}
        both = {pane: (emitted.get(pane, 0), true.get(pane, 0)) for pane in emitted.keys() | true.keys()}
        return {pane: pair for pane, pair in sorted(both.items()) if pair[0] != pair[1]}

    def happened(self, since_ms: int, until_ms: int) -> tuple[Longs, Longs, Longs]:
        """Event time in ms, ad and place in `EVENT_TYPES` of the events from `since_ms` up to, not including, `until_ms`."""
        first = self.times.count_before(since_ms)
        i = np.arange(first, max(first, self.times.count_before(until_ms)))
        h = xxhash64(self.seed, i)
        return self.times.event_ms(i), take_bits(h, AD_BITS) % self.ads, take_bits(h, TYPE_BITS) % len(EVENT_TYPES)

    def sample(self, until_ms: int) -> tuple[Longs, Longs]:
        """Event times and arrival times, in ms, of all events before `until_ms`, in the order of event time."""
        i = np.arange(self.times.count_before(until_ms))
        event_ms = self.times.event_ms(i)
        return event_ms, event_ms + self.delay.table()[take_bits(xxhash64(self.seed, i), DELAY_BITS)]


def _pieces(count: int, size: int = 1 << 20) -> Iterator[Longs]:
    for start in range(0, count, size):
        yield np.arange(start, min(start + size, count))
