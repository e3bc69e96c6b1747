"""What a slack gate says of itself once a period, and the recent past of it."""

from dataclasses import dataclass, replace

import numpy as np

from headway.model.arrays import Floats
from headway.model.slack import Report

DAY_S = 86_400


def clock_features(slt_ms: Floats, at_s: Floats, threads: Floats, window_ms: Floats) -> Floats:
    """Eq. 6: SLT, hour, minute, second, threads, window."""
    day = at_s % DAY_S
    return np.column_stack([slt_ms, day // 3600, day % 3600 // 60, day % 60, threads, window_ms])


def phase_features(slt_ms: Floats, at_s: Floats, threads: Floats, window_ms: Floats, period_s: float | None) -> Floats:
    """Eq. 6 with its clock as one number, so that a full minute is no jump, and the moment of the cycle, if there is one."""
    columns = [slt_ms, at_s, threads, window_ms]
    if period_s is not None:
        turn = 2 * np.pi * at_s / period_s
        columns += [np.cos(turn), np.sin(turn)]
    return np.column_stack(columns)


@dataclass(frozen=True, slots=True)
class History:
    """The last reports of one operator, oldest first, of which some teach what a threshold does."""

    keep: int = 300
    reports: tuple[Report, ...] = ()
    teaches: tuple[bool, ...] = ()

    def plus(self, report: Report) -> "History":
        # A period that begins with a cut lets out what has waited under the old threshold, and after a raise no tuple has
        # waited as long as the new one allows: neither latency is the threshold's own.
        cut = bool(self.reports) and report.slt_ms < self.reports[-1].slt_ms
        settled = not cut and report.latency_ms >= 0.9 * min(report.slt_ms, report.gap_ms)
        return replace(self, reports=(*self.reports, report)[-self.keep :], teaches=(*self.teaches, settled)[-self.keep :])

    @property
    def lessons(self) -> tuple[Report, ...]:
        return tuple(r for r, good in zip(self.reports, self.teaches, strict=True) if good)


def columns(reports: tuple[Report, ...]) -> tuple[Floats, Floats, Floats, Floats]:
    """SLT, moment, threads, window of each."""
    rows = np.array([(r.slt_ms, r.at_s, r.threads, r.window_ms) for r in reports], dtype=np.float64).reshape(-1, 4)
    return rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3]
