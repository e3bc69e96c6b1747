"""Figures of what was simulated: every record is drawn, and none is needed that was not kept."""

from dataclasses import asdict
from typing import Any

import pytest

from headway_lab.experiments.simulator import calibrate, figures, ladder, paper


def rung(queries: int, policy: str, **more: Any) -> dict[str, Any]:
    return {
        "policy": policy,
        "seed": 1,
        "setting": asdict(ladder.Rung(queries, **more)),
        "mean_ms": 100.0,
        "least_ms": 60.0,
        "decide_us": 50.0,
    }


def test_the_ladder_has_a_figure_for_each_load_and_one_for_decisions() -> None:
    records = [rung(n, p) for n in (10, 100) for p in ("klink", "response-ratio")]
    records += [rung(200, "klink", load=0.9, unequal=2.0)]
    drawn = figures.ladder(records)
    assert len(drawn) == 3 and "200%" in drawn[1][1]
    names = {trace.name for trace in drawn[0][2].data}
    assert names == {"klink", "response-ratio", "least possible"}
    assert figures.ladder([]) == []


def test_a_sweep_is_drawn_without_the_curves_that_were_not_kept() -> None:
    records = []
    for seed in (1, 2):
        for queries in (60, 80):
            found = paper.simulate(paper.KlinkCase(queries=2, minutes=2), "klink", seed)
            records.append({"policy": "klink", "seed": seed, "setting": asdict(paper.KlinkCase(queries=queries)), **found})
    assert all("quantiles_ms" not in r for r in records)
    drawn = figures.paper(records)
    assert any("Fig. 6a" in heading for heading, _, _ in drawn)


def test_a_calibration_comes_back_from_the_ledger() -> None:
    point = calibrate.Point("klink", 10, 500, {"mean_ms": 80.0, "p99_ms": 200.0}, {"mean_ms": 88.0, "p99_ms": 150.0}, False)
    (again,) = calibrate.points({"points": [asdict(point)]})
    assert again == point and again.error("mean_ms") == pytest.approx(0.1)
    assert calibrate.mean_error([again], "p99_ms") == pytest.approx(0.25)
    heading, _, drawn = figures.calibration([again])
    assert heading and len(drawn.data) >= 1
