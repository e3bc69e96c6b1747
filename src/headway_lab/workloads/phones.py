"""Nine phones on a mobile network, two messages a second each: real delays, to be replayed with their own arrival times.

Three sessions of ten minutes (10 November 2014), of messages of about 260, 830 and 1,370 bytes. A phone stamps what it
detects and sends it; a server stamps its arrival.

What bites in the files:

- Fields are separated by `;`, and `NA` stands in columns that only the first message of a phone lacks.
- There are eight, nine and eight phones, 1,200 messages each: none lost, none doubled. Message numbers start anew in each
  session, so a message is named by session, phone and number.
- The phones' clocks are up to 30 s off. Detection times are already corrected, by one offset (`C.NTP.offset`) per phone and
  session; adding it again would make a phone 30 s late or early. What is left of the error shows as a shift of some tens of
  ms for a phone and a session: one phone's messages go up in 51 ms and its answers come down in 82, another's take 237 and
  67. Delays compare within a phone; between phones a part of the difference is the clocks'.
- Disorder is almost all between phones: 16 to 34 % of the rows are older than one that came before, but within a phone
  under 0.5 %. A watermark per phone would see a stream almost in order; one over all sees what the slowest phone does.
- Nearly half of the delays above 1 s are of a phone's first five messages, while its radio wakes up; most others
  are bursts of one phone: up to a dozen messages, held back and then delivered within about half a second.
- Phones start and end up to 14 s apart: the first and last seconds have fewer of them.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from headway.errors import SettingError
from headway_lab.workloads.data import find
from headway_lab.workloads.feed import Feed, Longs

SCHEMA = "event_ms long, phone string, message long, bytes long, round_trip_ms long"  # of JSON
BODY = b'"phone":"%b","message":%d,"bytes":%d,"round_trip_ms":%d'

SESSIONS = (1, 2, 3)
QUANTILES = (0.5, 0.9, 0.99, 1.0)

EVENT, ARRIVAL, PHONE = "S.Client.Detection.Time", "S.Message.received.time.ms", "S.Device.ID"
MESSAGE, BYTES, ROUND_TRIP = "S.Message.ID", "S.Http.Content.Length", "A.Duration.round.trip"


def phones(which: int = 1) -> Feed:
    """One session's messages as the server received them, keyed by phone.

    The body has no times of its own, only durations, so that it stays true when the feed is moved to another base.
    """
    if which not in SESSIONS:
        raise SettingError("phones.which", which, "a session: 1, 2 or 3")
    columns = [EVENT, ARRIVAL, PHONE, MESSAGE, BYTES, ROUND_TRIP]
    frame = pd.read_csv(find(f"out_of_order/ooo_dataset_d-{which}.csv.xz"), sep=";", usecols=columns)
    names = [str(name).encode() for name in frame[PHONE].tolist()]
    numbers = (frame[column].tolist() for column in (MESSAGE, BYTES, ROUND_TRIP))
    body = [BODY % row for row in zip(names, *numbers, strict=True)]
    event_ms, arrival_ms = (frame[column].to_numpy(dtype=np.int64) for column in (EVENT, ARRIVAL))
    return Feed.of(f"phones-{which}", event_ms, arrival_ms, body, names)


@dataclass(frozen=True)
class PhoneFacts:
    """How late one phone's messages are, and how much they overtake one another."""

    rows: int
    out_of_order: float  # share of its rows older than one of its own that came before
    delays_ms: tuple[float, ...]  # at QUANTILES


@dataclass(frozen=True)
class FeedFacts:
    """How late and how disordered a feed is."""

    rows: int
    out_of_order: float  # share of the rows older than one that came before, of whichever phone
    delays_ms: tuple[float, ...]  # at QUANTILES
    phones: dict[str, PhoneFacts]


def facts(feed: Feed) -> FeedFacts:
    """The facts of any feed with keys, per key and in all."""
    if feed.key is None:
        raise SettingError("feed", feed.name, "a feed with keys, to tell phones apart")
    names, which = np.unique(np.array(feed.key, dtype=np.bytes_), return_inverse=True)
    delay_ms = feed.arrival_ms - feed.event_ms
    each = {}
    for index, name in enumerate(names.tolist()):
        own = which == index
        each[name.decode()] = PhoneFacts(int(own.sum()), out_of_order(feed.event_ms[own]), _quantiles(delay_ms[own]))
    return FeedFacts(len(feed), out_of_order(feed.event_ms), _quantiles(delay_ms), each)


def out_of_order(event_ms: Longs) -> float:
    """The share of rows that are older than one that came before."""
    return float((event_ms < np.maximum.accumulate(event_ms)).mean()) if len(event_ms) else 0.0


def _quantiles(delay_ms: Longs) -> tuple[float, ...]:
    return tuple(np.quantile(delay_ms, QUANTILES).tolist()) if len(delay_ms) else ()
