"""Recorded rows played over and over, as fast as a load profile says."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from headway_lab.workloads.bio.ecg import mitbih as ecg
from headway_lab.workloads.bio.load_profiles import LoadProfile, times_ms
from headway_lab.workloads.bio.thorax import records as thorax
from headway_lab.workloads.feed import Feed

Body = Callable[[int], tuple[bytes, bytes]]  # of a row's number: its body and its key


@dataclass(frozen=True, eq=False)
class PacedRecord:
    """Row `i` of a stream that was activated at `base_ms` is a pure function of `i`; when it is sent, of the profile.

    What happened is taken to have happened when it is sent: a patient's record is played faster than it was recorded.
    """

    name: str
    body: Body
    profile: LoadProfile
    base_ms: int

    def feed(self, since_ms: int, until_ms: int) -> Feed:
        """The rows from `since_ms` up to, not including, `until_ms`: one feed after the other loses none."""
        first_s, last_s = max(0, (since_ms - self.base_ms) // 1_000), max(0, -((self.base_ms - until_ms) // 1_000))
        counts = self.profile.rows(first_s, max(first_s, last_s))
        at_ms = times_ms(counts, self.base_ms + first_s * 1_000)
        number = int(self.profile.rows(0, first_s).sum()) + np.arange(len(at_ms))
        kept = (at_ms >= since_ms) & (at_ms < until_ms)
        rows = [self.body(i) for i in number[kept].tolist()]
        return Feed(self.name, at_ms[kept], at_ms[kept], [body for body, _ in rows], [key for _, key in rows])


def paced_thorax(profile: LoadProfile, base_ms: int) -> PacedRecord:
    """Samples of the six patients in turns."""
    return PacedRecord("thorax", _thorax_rows(), profile, base_ms)


def paced_ecg(profile: LoadProfile, base_ms: int, packet: int = ecg.PACKET) -> PacedRecord:
    """Packets of all electrocardiograms in turns. A record that has ended begins again, and its samples are counted on:
    a complex that is cut there is as good as any other."""
    return PacedRecord("ecg", _ecg_rows(packet), profile, base_ms)


@cache
def _thorax_rows() -> Body:
    found = thorax.chests()
    keys = [one.patient.encode() for one in found]
    rows = [thorax.bodies(one) for one in found]

    def row(i: int) -> tuple[bytes, bytes]:
        turn, patient = divmod(i, len(rows))
        return rows[patient][turn % len(rows[patient])], keys[patient]

    return row


@cache
def _ecg_rows(packet: int) -> Body:
    found = ecg.records()

    def row(i: int) -> tuple[bytes, bytes]:
        turn, which = divmod(i, len(found))
        record = found[which]
        since = turn % (len(record.samples) // packet) * packet
        return ecg.packet_body(record, since, since + packet, turn * packet), record.name.encode()

    return row
