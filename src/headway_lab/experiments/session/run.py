"""What each setting of the tuned session gains, and from how many rows a batch on generated code pays."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headway_lab.harness.ledger import Record
from headway_lab.harness.setting import Setting, profile_named
from headway_lab.harness.suite import Spread

EXPERIMENT = "session"
INTERPRETED, COMPILED = "tuned", "compiled"


def leave_one_out(base: Setting) -> list[Setting]:
    """The tuned session, and one that lacks each of its settings in turn."""
    return [base, *(replace(base, profile=f"without {key}") for key in profile_named("tuned"))]


def ladder(base: Setting, rates: Iterable[int]) -> list[Setting]:
    """With and without generated code, from small batches to large ones."""
    return [replace(base, rate=rate, profile=profile) for rate in rates for profile in (INTERPRETED, COMPILED)]


@dataclass(frozen=True, slots=True)
class Gain:
    """A setting, and a batch's processor time without it over that with all of them, seed by seed."""

    key: str
    cpu: Spread
    mean: Spread  # the same of the windows' mean latency


def gains(records: Sequence[Record], base: Setting) -> list[Gain]:
    """What leaving out each setting costs; only seeds with both sides count."""
    whole = {r["seed"]: r for r in records if _has_setting(r, base)}
    out = []
    for setting in leave_one_out(base)[1:]:
        pairs = [(r, whole[r["seed"]]) for r in records if _has_setting(r, setting) and r["seed"] in whole]
        if pairs:
            cpu, mean = (Spread.of([a[f] / max(b[f], 1e-9) for a, b in pairs]) for f in ("cpu_batch_ms", "mean_ms"))
            out.append(Gain(setting.profile.removeprefix("without "), cpu, mean))
    return out


@dataclass(frozen=True, slots=True)
class CostLine:
    """Processor time of a batch: a fixed part and one per row, by least squares over all runs."""

    fixed_ms: float
    per_row_ms: float
    points: tuple[tuple[float, float], ...]  # rows a batch, ms

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> "CostLine":
        rows, ms = np.array(points).T
        # Relative errors: a large batch is not worth more than ten small ones.
        per_row, fixed = np.polyfit(rows, ms, 1, w=1 / ms)
        return cls(float(fixed), float(per_row), tuple(sorted(points)))


def line(records: Sequence[Record], profile: str) -> CostLine | None:
    """None unless there were batches of several sizes."""
    points = [
        (r["rows"] / r["batches"], r["cpu_batch_ms"])
        for r in records
        if r["setting"]["profile"] == profile and r["batches"] and r["cpu_batch_ms"] > 0
    ]
    return CostLine.through(points) if len({rows for rows, _ in points}) > 1 else None


def crossing(interpreted: CostLine, compiled: CostLine) -> float | None:
    """Rows of a batch from which generated code is the cheaper; None if it never is."""
    per_row = interpreted.per_row_ms - compiled.per_row_ms
    return max(0.0, (compiled.fixed_ms - interpreted.fixed_ms) / per_row) if per_row > 0 else None


def _has_setting(record: Record, setting: Setting) -> bool:
    return all(record["setting"].get(name) == getattr(setting, name) for name in ("queries", "rate", "profile"))


def figure(lines: dict[str, CostLine]) -> Any:
    """Processor time against rows a batch: what was measured, and the line through it."""
    import plotly.graph_objects as go

    drawn = go.Figure()
    for number, (name, of) in enumerate(lines.items()):
        rows, ms = zip(*of.points, strict=True)
        colour = ("#2a78d6", "#eb6834")[number % 2]
        shown = {INTERPRETED: "no generated code", COMPILED: "generated code"}.get(name, name)
        drawn.add_scatter(x=rows, y=ms, mode="markers", name=shown, marker={"color": colour, "size": 9})
        along = np.geomspace(min(rows), max(rows), 50)
        fitted = of.fixed_ms + of.per_row_ms * along
        drawn.add_scatter(x=along, y=fitted, mode="lines", line={"color": colour}, showlegend=False, hoverinfo="skip")
    drawn.update_xaxes(title="rows a batch", type="log", dtick=1)
    drawn.update_yaxes(title="processor time, ms a batch", type="log")
    return drawn
