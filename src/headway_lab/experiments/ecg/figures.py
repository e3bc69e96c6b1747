"""What is drawn: every record's errors, and a stretch of an electrocardiogram on its way through the filters."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headway_lab.experiments.ecg.run import RecordOutcome
from headway_lab.harness.report import Figure
from headway_lab.workloads.bio.ecg import EcgRecord, detected
from headway_lab.workloads.bio.ecg.design import QrsDesign, band, integral, slopes
from headway_lab.workloads.bio.ecg.peaks import peaks
from headway_lab.workloads.bio.ecg.rhythm import Rhythm, judged
from headway_lab.workloads.hashing import Longs

PER_MILLIVOLT = 200
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#999999"


@dataclass(frozen=True, eq=False)
class EcgStretch:
    """Some seconds of a record, with what was marked and what was found there."""

    record: EcgRecord
    since: int  # sample
    until: int
    signal: Longs
    passed: Longs  # band-passed
    energy: Longs  # the integral
    thresholds: list[tuple[int, float]]  # of the integral: from which sample on, and how high
    found: list[int]

    @property
    def marked(self) -> list[int]:
        return [at for at in self.record.beats.tolist() if self.since <= at < self.until]

    def seconds(self, at: Any) -> Any:
        return np.asarray(at) / self.record.fs


def stretch(record: EcgRecord, since_s: float, seconds: float) -> EcgStretch:
    """These seconds, as a detector sees them that has seen the record from its beginning."""
    since, until = round(since_s * record.fs), round((since_s + seconds) * record.fs)
    design, x = QrsDesign(record.fs), record.samples
    padded = np.pad(x, 2 * design.reach, mode="edge")
    passed = band(padded, design)
    steep = slopes(passed, design)
    energy = integral(steep, design)
    at_passed = 2 * design.reach - (design.smooth - 1 + design.half_base)
    at_energy = 2 * design.reach - design.margin
    return EcgStretch(
        record, since, until, x[since:until], passed[at_passed + since : at_passed + until],
        energy[at_energy + since : at_energy + until], _thresholds(padded, design, since, until),
        [beat.at for beat in detected(x, record.fs) if since <= beat.at < until],
    )  # fmt: skip


def _thresholds(padded: Longs, design: QrsDesign, since: int, until: int) -> list[tuple[int, float]]:
    rhythm, told = Rhythm(0), [(since, 0.0)]
    for peak in peaks(padded, design, -2 * design.reach):
        if peak.where >= 0 and peak.at < until:
            _, rhythm = judged(rhythm, peak, design)
            if rhythm.energy is not None:
                now = (max(peak.at, since), rhythm.strictness * rhythm.energy.threshold)
                told = [now] if peak.at < since else [*told, now]
    return [*told, (until, told[-1][1])]


def ecg(outcomes: Sequence[RecordOutcome], shown: EcgStretch) -> list[Figure]:
    """The figures of the page."""
    return [_errors(outcomes), _way(shown)]


def _errors(outcomes: Sequence[RecordOutcome]) -> Figure:
    import plotly.graph_objects as go

    drawn = go.Figure()
    names = [one.name if one.clean else f"{one.name} (difficult)" for one in outcomes]
    for label, colour, values in (
        ("marked and not found", ORANGE, [100 * (1 - one.whole.sensitivity) for one in outcomes]),
        ("found and not marked", BLUE, [100 * (1 - one.whole.positive_predictivity) for one in outcomes]),
    ):
        drawn.add_bar(x=names, y=values, name=label, marker={"color": colour})
    drawn.add_hline(y=1, line={"color": "#D00", "dash": "dash", "width": 1})
    drawn.update_xaxes(title="record", type="category")
    drawn.update_yaxes(title="% of the beats", rangemode="tozero")
    return "Errors, record by record", "From the first sample on. Dashed: one in a hundred.", drawn


def _way(shown: EcgStretch) -> Figure:
    from plotly.subplots import make_subplots

    drawn = make_subplots(rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.04)
    at = shown.seconds(np.arange(shown.since, shown.until))
    lines = ((shown.signal / PER_MILLIVOLT, "mV"), (shown.passed, "5-15 Hz"), (shown.energy, "integral"))
    for row, (values, name) in enumerate(lines, start=1):
        drawn.add_scatter(x=at, y=values, mode="lines", line={"color": GREY, "width": 1}, name=name, row=row, col=1)
        drawn.update_yaxes(title=name, row=row, col=1)
    for beats, name, symbol, colour in (
        (shown.marked, "marked", "triangle-down", GREEN),
        (shown.found, "found", "circle-open", ORANGE),
    ):
        heights = shown.record.samples[beats] / PER_MILLIVOLT
        marker = {"symbol": symbol, "color": colour, "size": 11}
        drawn.add_scatter(x=shown.seconds(beats), y=heights, mode="markers", marker=marker, name=name, row=1, col=1)
    where, high = zip(*shown.thresholds, strict=True)
    line = {"color": BLUE, "shape": "hv", "dash": "dash"}
    drawn.add_scatter(x=shown.seconds(where), y=high, mode="lines", line=line, name="threshold", row=3, col=1)
    drawn.update_xaxes(title="seconds", row=3, col=1)
    how = "What was measured, what is left of it between 5 and 15 Hz, and the integral with its threshold."
    return f"Record {shown.record.name}", how, drawn


def picture(shown: EcgStretch, path: Path) -> None:
    """The stretch as a picture file."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(11, 6.2), dpi=110, layout="constrained")
    above, middle, below = canvas.subplots(3, 1, sharex=True)
    at = shown.seconds(np.arange(shown.since, shown.until))
    above.plot(at, shown.signal / PER_MILLIVOLT, color="#444444", linewidth=0.9)
    top = float(shown.signal.max()) / PER_MILLIVOLT
    above.plot(
        shown.seconds(shown.marked), [top + 0.35] * len(shown.marked), "v", color=GREEN, label="marked by cardiologists"
    )
    heights = shown.record.samples[shown.found] / PER_MILLIVOLT
    above.plot(shown.seconds(shown.found), heights, "o", color=ORANGE, fillstyle="none", markersize=8, label="found")
    middle.plot(at, shown.passed, color="#444444", linewidth=0.9)
    below.plot(at, shown.energy, color="#444444", linewidth=0.9)
    where, high = zip(*shown.thresholds, strict=True)
    below.step(shown.seconds(where), high, where="post", color=BLUE, linestyle="--", linewidth=1, label="threshold")
    for part, label in ((above, f"record {shown.record.name}, mV"), (middle, "5 to 15 Hz"), (below, "integral")):
        part.set_ylabel(label)
        part.spines[["top", "right"]].set_visible(False)
    for part in (middle, below):
        part.set_yticks([])
    above.legend(loc="upper right", ncols=2, frameon=False, bbox_to_anchor=(1, 1.25))
    below.legend(loc="upper right", frameon=False)
    below.set_xlabel("seconds from the start of the record")
    canvas.savefig(path)
