"""The figures of a fleet as picture files, out of what the ledger keeps of the runs: for the pages of the documentation."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway_lab.experiments.fleet.cases import BEGINS_MIN
from headway_lab.experiments.fleet.figures import COLOURS
from headway_lab.experiments.fleet.run import ARMS
from headway_lab.harness.ledger import Record, newest_of_each

WHERE = (
    ("internal, variable rates", "internal", "variable"),
    ("internal, fixed rates", "internal", "fixed"),
    ("external", "external", "fixed"),
)
SHOWN = (
    "never-move",
    "near-ideal",
    "best-beside",
    "least-loaded",
    "round-robin",
    "random",
    "rings-published",
    "prediction-rings",
)
LINES = {"never-move": ":", "near-ideal": "--", "best-beside": "-."}
MOVERS = ("rings-published", "prediction-rings")


def throughput(records: Sequence[Record], path: Path) -> None:
    """Throughput over time, by arm: one seed."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(13, 4.6), dpi=110, layout="constrained")
    for axes, (title, scenario, rates) in zip(canvas.subplots(1, len(WHERE), sharey=True), WHERE, strict=True):
        for record in _of(records, scenario, rates, SHOWN):
            series = record["throughput_series"]
            minutes = [minute + 1 - BEGINS_MIN for minute in range(len(series))]
            style = LINES.get(record["policy"], "-")
            width = 2.6 if record["policy"] == "prediction-rings" else 1.4
            million = [value / 1e6 for value in series]
            axes.plot(minutes, million, style, color=COLOURS[record["policy"]], linewidth=width, label=record["policy"])
        axes.axvline(0, color="#BBBBBB", linewidth=1)
        axes.set(title=title, xlabel="minutes since the disturbance")
        axes.spines[["top", "right"]].set_visible(False)
        if axes.lines[:-1]:
            axes.legend(loc="lower right", frameon=False, fontsize=8)
    canvas.axes[0].set_ylabel("million messages a second")
    canvas.axes[0].set_ylim(bottom=0)  # of all: they share it
    canvas.savefig(path)


def moves(records: Sequence[Record], path: Path) -> None:
    """Moves in every two minutes, and the threshold that each had to pass: one seed."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(13, 6.4), dpi=110, layout="constrained")
    above, below = canvas.subplots(2, len(WHERE), sharex="col", sharey="row")
    for counts, passed, (title, scenario, rates) in zip(above, below, WHERE, strict=True):
        for record in _of(records, scenario, rates, MOVERS):
            colour, told = COLOURS[record["policy"]], record.get("threshold_series", ())
            series = record["moves_series"][BEGINS_MIN:]
            pairs = [sum(series[at : at + 2]) for at in range(0, len(series), 2)]
            counts.step([2 * at for at in range(len(pairs))], pairs, where="post", color=colour, label=record["policy"])
            at, share = [minute - BEGINS_MIN for minute, _ in told], [100 * threshold for _, threshold in told]
            passed.plot(at, share, ".", color=colour, markersize=5, label=record["policy"])
        counts.set(title=title)
        passed.set(xlabel="minutes since the disturbance")
        if counts.lines:
            counts.legend(loc="upper right", frameon=False, fontsize=8)
        for axes in (counts, passed):
            axes.spines[["top", "right"]].set_visible(False)
    above[0].set_ylabel("moves in two minutes")
    below[0].set_ylabel("threshold passed, %")
    for axes in (above[0], below[0]):
        axes.set_ylim(bottom=0)
    canvas.savefig(path)


def _of(records: Sequence[Record], scenario: str, rates: str, arms: Sequence[str]) -> list[dict[str, Any]]:
    of = [r for r in records if (r["setting"]["scenario"], r["setting"]["rates"]) == (scenario, rates)]
    drawn = [r for r in of if "throughput_series" in r and r["setting"]["nodes"] == 15]
    return [dict(r) for r in newest_of_each(drawn, [arm for arm in ARMS if arm in arms])]
