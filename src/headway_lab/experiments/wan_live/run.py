"""One arm of a live wide area: a pipeline over three sites; in the middle of it twice the rows, and half of a link."""

import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from headway.errors import HeadwayError
from headway.wan import testbed
from headway.wan.testbed import WanTestbed
from headway_lab.experiments.wan_live.disturbance import SITES, Disturbance, Say, WanLiveCase, sleep_until
from headway_lab.experiments.wan_live.staged import USD_PER_GB, came, pipeline, sender
from headway_lab.experiments.wan_live.views import (
    DeliveredPane,
    Views,
    delivered,
    true_views,
    twice,
    up_to,
    views_of,
    wrong,
)
from headway_lab.experiments.wan_live.watch import changes_in

EXPERIMENT = "wan-live"
DRAIN_S = 180.0
LAST_S, ON_TIME_S = 60, 10


@dataclass(frozen=True, slots=True)
class WanLiveOutcome:
    """What came of one arm."""

    windows: int
    wrong: int  # groups that are missing, or have another count than the truth
    twice: int
    on_time: float  # of the views of the last minute, those that were out 10 s after the end of their window
    processing: float  # views that came out in the last minute, over those that were made in it
    delay_s: float  # of the windows of the last minute, from their end until they are out
    worst_s: float  # of all windows
    caught_up_s: float  # after a fault's end, until the last result was out that was late
    wan_mb: float  # over all links, whatever for
    dollars: float
    changes: int
    decided: list[str]


def play(case: WanLiveCase, arm: str, seed: int, folder: Path, say: Say) -> WanLiveOutcome:
    folder.mkdir(parents=True, exist_ok=True)
    bed = testbed.up(SITES, case.kbit * 1_000, ends_with_parent=True)
    try:
        with pipeline(bed, case, arm, folder, say) as running:
            return _played(bed, case, seed, folder, running, say)
    finally:
        bed.down()


def _played(
    bed: WanTestbed, case: WanLiveCase, seed: int, folder: Path, running: "subprocess.Popen[bytes]", say: Say
) -> WanLiveOutcome:
    results, disturbance = folder / "results", Disturbance(bed, case, folder / "state", say)
    epoch = time.time_ns() // 1_000_000 + 3_000
    sent = [case.streams(n, seed, epoch) for n in range(len(SITES))]
    senders = [sender(bed, site, streams, folder) for site, streams in zip(SITES, sent, strict=True)]
    try:
        before = _sent_bytes(bed)
        say("rows are sent")
        over = disturbance.play(epoch)
        end = epoch + case.seconds * 1_000
        sleep_until(end)
        crossed, seen = _sent_bytes(bed) - before, delivered(results)
        say("no more rows; what waits comes over")
        if case.fault == "none":
            disturbance.undo()
        for one in senders:
            if one.wait(DRAIN_S):
                raise HeadwayError(f"a sender has failed, see {folder}")
        true = true_views((stream for streams in sent for stream in streams), case.window_ms)
        until = end // case.window_ms * case.window_ms
        # What is not there by then counts as missing. That is an outcome too: a run that fell behind must not say nothing.
        # All groups and not just the last window: one task, or plan, may be ahead of another.
        due = len(up_to(true, until))
        came(lambda: len(up_to(views_of(delivered(results)), until)) >= due, DRAIN_S, "the last window", running)
        time.sleep(2 * case.window_ms / 1_000)
        looked = time.time_ns() // 1_000_000
    finally:
        for one in senders:
            one.kill()
    found, decided = delivered(results), decisions(folder / "journal.db")
    return WanLiveOutcome(
        windows=len({one.until for one in found}),
        wrong=wrong(up_to(views_of(found), until), up_to(true, until)),
        twice=twice(found),
        **figures(found, seen, true, end, looked),
        caught_up_s=0.0 if case.fault == "none" else caught_up(found, over, until),
        wan_mb=round(crossed / 1e6, 3),
        dollars=round(crossed / 1e9 * USD_PER_GB, 6),
        changes=len(decided),
        decided=decided,
    )


def figures(
    found: list[DeliveredPane], seen: list[DeliveredPane], true: Views, end_ms: int, now_ms: int
) -> dict[str, float]:
    """`seen` is what was out when the last row was made, at `end_ms`; of the last minute, unless told.

    A window that is not out by now is late by as much at least.
    """
    due = [pane for pane in true if end_ms - LAST_S * 1_000 < pane[0] <= end_ms - ON_TIME_S * 1_000]
    wanted = sum(true[pane] for pane in due)
    in_time = {(one.until, one.campaign) for one in seen if one.at_ms <= one.until + ON_TIME_S * 1_000}
    late = {until: (now_ms - until) / 1_000 for until, _ in true if until <= end_ms}
    late |= {one.until: (one.at_ms - one.until) / 1_000 for one in found}
    last = [delay for until, delay in late.items() if end_ms - LAST_S * 1_000 < until <= end_ms]
    made = sum(n for (until, _), n in true.items() if end_ms - LAST_S * 1_000 < until <= end_ms)
    out = sum(one.views for one in seen if one.at_ms > end_ms - LAST_S * 1_000)
    return {
        "on_time": round(sum(true[pane] for pane in due if pane in in_time) / max(1, wanted), 4),
        "processing": round(out / max(1, made), 4),
        "delay_s": round(fmean(last), 2) if last else 0.0,
        "worst_s": round(max(late.values(), default=0.0), 2),
    }


def caught_up(found: list[DeliveredPane], over_ms: int, until_ms: int) -> float:
    """Seconds after a fault was over until the last window was out that came late, of those up to a moment."""
    late = [one.at_ms for one in found if one.until <= until_ms and one.at_ms > one.until + ON_TIME_S * 1_000]
    return round(max(0, max(late, default=over_ms) - over_ms) / 1_000, 2)


def decisions(journal: Path) -> list[str]:
    """Whatever was changed, in words."""
    return [f"{one.words}: {one.because}; {one.receipt}" for one in changes_in(journal)]


def _sent_bytes(bed: WanTestbed) -> int:
    return sum(link.sent_bytes for link in bed.status())


def setting(case: WanLiveCase) -> dict[str, Any]:
    return asdict(case)
