"""`headway sim wan`: the paper's experiments on WASP, small."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from headway.cli.app import app
from headway.dashboard.area_page import area_page
from headway.dashboard.reading import JournalFile
from headway.errors import SettingError
from headway_lab.experiments.wan import cases, command, figures, program, queries, run, sharing
from headway_lab.experiments.wan.cases import WanCase
from headway_lab.harness.claims import load as claims
from headway_lab.workloads import wide_area
from headway_lab.workloads.data import folder

needs_data = pytest.mark.skipif(
    folder() is None or not (folder() / wide_area.THROUGHPUT).exists(),  # type: ignore[operator]
    reason="needs the folder with real data (HEADWAY_DATA)",
)


@needs_data
def test_an_area_has_sixteen_sites_and_links_as_they_were_measured() -> None:
    made = wide_area.area_of(1)
    assert len(made) == 16 and made.names[8:] == wide_area.DCS and set(made.slots[8:]) == {8.0}
    assert all(2 <= slots <= 4 for slots in made.slots[:8]) and made != wide_area.area_of(2)
    dc = made.links.bandwidth[8:, 8:][~np.eye(8, dtype=bool)] * 8 / 1e6
    assert 20 < dc.min() < dc.max() < 80  # Mbit/s of one connection
    ireland, sydney = made.names.index("ireland"), made.names.index("sao-paulo")
    assert made.links.latency_ms[ireland, sydney] == pytest.approx(made.links.latency_ms[sydney, ireland], rel=0.05)
    assert made.links.usd_per_gb[made.names.index("sao-paulo"), ireland] > made.links.usd_per_gb[ireland, sydney]


@needs_data
@pytest.mark.slow  # reads every real series
def test_traces_are_real_series_within_the_range_of_the_paper() -> None:
    links, rates = wide_area.link_factors(3, 4, 600, 1000), wide_area.rate_factors(3, 4, 600, 1000)
    assert links.shape == (600, 4, 4) and wide_area.LOW <= links.min() < 1 < links.max() <= wide_area.HIGH
    assert (links[:, 0, 0] == 1).all() and 0.8 <= rates.min() < rates.max() <= 2.4
    shares = wide_area.tweets_by_edge()
    assert sum(shares.values()) == pytest.approx(1) and max(shares, key=lambda e: shares[e]) == "edge-ohio"


@needs_data
@pytest.mark.parametrize("query", queries.QUERIES)
def test_a_scene_begins_with_its_busiest_link_as_full_as_told(query: str) -> None:
    made = cases.scene(WanCase(query=query), 2)
    from headway.estimate.stream_rates import planned_rates
    from headway.policy.adaptation.streams import Streams

    sent = dict(zip(made.truth.sources, made.truth.rates.tolist(), strict=True))
    streams = Streams(made.plans[0], made.truth.area, planned_rates(made.plans[0], sent))
    assert streams.fill(made.deployed).max() == pytest.approx(0.6, rel=1e-6) and streams.fits(made.deployed, 0.8)
    assert len({p.name for p in made.plans}) == len(made.plans)


@needs_data
def test_wasp_keeps_up_where_no_adapt_does_not_and_dropping_loses_rows() -> None:
    case = WanCase(minutes=11)
    found = {arm: run.simulate(case, arm, 1) for arm in ("no-adapt", "degrade", "wasp")}
    assert found["wasp"]["end_ms_1"] < 0.1 * found["no-adapt"]["end_ms_1"]
    assert found["wasp"]["lost"] == found["no-adapt"]["lost"] == 0 < found["degrade"]["lost"]
    assert found["no-adapt"]["ratio_1"] < 0.9 and found["wasp"]["ratio_1"] > 0.95


@needs_data
def test_runs_are_kept_drawn_and_not_made_twice(tmp_path: Path) -> None:
    ledger, page = tmp_path / "ledger.jsonl", tmp_path / "wan.html"
    some = "--scenarios techniques,state,sharing --arms no-adapt,scale,wasp,aware --minutes 5 --seeds 1 --jobs 1"
    line = f"sim wan {some} --out {page} --ledger {ledger}"
    shown = CliRunner().invoke(app, line.split())
    assert shown.exit_code == 0, shown.output
    records = [json.loads(row) for row in ledger.read_text().splitlines()]
    assert {r["kind"] for r in records} == {"sim"} and "wasp" in shown.output and "<html" in page.read_text()
    ours = [r for r in records if r["experiment"] == run.EXPERIMENT]
    assert len(ours) == 3 + 1 and all(r["waiting"] >= 0 for r in ours)
    again = CliRunner().invoke(app, line.split())
    rows = [json.loads(row) for row in ledger.read_text().splitlines()]
    assert again.exit_code == 0 and len([r for r in rows if r["experiment"] == run.EXPERIMENT]) == len(ours)


@needs_data
def test_one_run_is_written_down_to_be_looked_at(tmp_path: Path) -> None:
    path, ledger = tmp_path / "wan.db", tmp_path / "ledger.jsonl"
    line = f"sim wan --scenarios bottlenecks --minutes 7 --journal {path} --ledger {ledger}"
    shown = CliRunner().invoke(app, line.split())
    assert shown.exit_code == 0 and f"headway dashboard {path}" in shown.output, shown.output
    told = area_page(JournalFile(path))
    assert {"scale-out", "keep"} <= {d["kind"] for d in told["decisions"]} and len(told["sites"]) == 16
    assert not ledger.exists(), "a look is no measurement"
    refused = CliRunner().invoke(app, ["sim", "wan", "--scenarios", "program", "--journal", str(path)])
    assert "scenarios" in str(refused.exception)


@needs_data
def test_partial_aggregation_and_sharing_spare_bytes() -> None:
    found = sharing.compared(queries.TOPICS, 1)
    assert found["partial"]["wan_gb"] < found["plain"]["wan_gb"] and found["shared"]["tasks"] < found["apart"]["tasks"]
    assert found["plain-dollars"]["usd_h"] <= found["plain"]["usd_h"]


def test_the_program_is_timed_and_compared_with_an_exhaustive_search() -> None:
    assert program.compared(1, 12)["wrong"] == 0


def test_figures_are_drawn_of_what_there_is() -> None:
    series = {"delay_series": [1.0] * 9, "ratio_series": [1.0] * 9, "slots_series": [2] * 9, "cdf_series": [1.0] * 9}
    records = [
        {"policy": arm, "seed": 1, "setting": cases.setting(case), "transition_s": 1.0, "stabilising_s": 2.0,
         "overhead_s": 3.0, "p95_ms": 4.0, **series}
        for name, of in command.CASES.items() for case in of for arm in command.ARMS_OF[name]
    ]  # fmt: skip
    headings = [heading for heading, _, _ in figures.wan(records)]
    assert len(headings) == 2 * 3 + 4 + 4 + 2 + 1 + 2 and any("Fig. 14" in h for h in headings) and figures.wan([]) == []


def test_the_claims_name_arms_and_settings_that_are_measured() -> None:
    mine = [c for c in claims() if c.sim and c.sim.get("experiment") == run.EXPERIMENT]
    assert len(mine) >= 25
    asked = [(cases.setting(case), name) for name, of in command.CASES.items() for case in of]
    for claim in mine:
        assert claim.sim is not None
        for at in claim.sim["at"]:
            fitting = [name for setting, name in asked if at.items() <= setting.items()]
            assert fitting and {claim.candidate, *claim.baselines} <= set(command.ARMS_OF[fitting[0]]), claim.id


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--scenarios snow", "bottlenecks, techniques, live"),
        ("--arms snow", "no-adapt"),
        ("--seeds 0", "seeds"),
        ("--minutes 0 --scenarios live", "minutes"),
    ],
)
def test_a_wrong_option_is_told_in_one_line(line: str, says: str, tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["sim", "wan", *line.split(), "--out", str(tmp_path / "x.html")])
    assert shown.exit_code != 0 and isinstance(shown.exception, SettingError) and says in str(shown.exception)


def test_a_case_that_cannot_be_is_refused() -> None:
    with pytest.raises(SettingError, match="scenario"):
        replace(WanCase(), scenario="snow")
