"""The page can be read without explanation and without a network."""

import re
from typing import Any

from headway_lab.harness.claims import load
from headway_lab.harness.report import COLOURS, page
from headway_lab.harness.setting import Setting
from headway_lab.harness.verdicts import judge
from lab.harness.ledgers import record

WINDOWS: dict[str, Any] = {"latencies_ms": [100.0, 120.0, 90.0], "due_ms": [10, 3_010, 6_010]}


def test_single_windows_are_drawn_over_time() -> None:
    text = page("A demo", [record("klink", 100, **WINDOWS), record("stock-tuned", 2_000, **WINDOWS)])
    for heading in (
        "A demo",
        "Latency over time",
        "out after how long",
        "Batches per window",
        "Made with",
        "commit abc1234",
    ):
        assert heading in text
    assert "<b>5%</b>" in text  # 100 ms against 2,000 ms
    assert "<tr class='klink'>" in text and COLOURS["klink"] in text
    assert "Claims" not in text and "as the load grows" not in text


def test_a_ledger_is_drawn_by_load_with_whiskers_and_claims() -> None:
    loads = [Setting(queries=n, rate=200) for n in (20, 40)]
    runs = [
        record(p, ms * s, seed, s_)
        for s, s_ in enumerate(loads, 1)
        for seed in (1, 2)
        for p, ms in (("klink", 9), ("stock", 90))
    ]
    text = page("What was measured", runs, judge(load(), runs))
    for piece in ("Latency as the load grows", "20 x 200/s", "40 x 200/s", "arrayminus", "Claims", "K1", "not measured"):
        assert piece in text
    assert "Latency over time" not in text


def test_the_page_brings_its_library_once_and_loads_nothing() -> None:
    text = page("t", [record("klink", 1), record("stock", 2)])
    assert text.count("Plotly.newPlot(") >= 2
    assert len(re.findall(r"<script[^>]*\bsrc=", text)) == 0
    assert 3_000_000 < len(text) < 9_000_000


def test_names_are_escaped() -> None:
    assert "<b>bold</b>" not in page("<b>bold</b>", [record("klink", 1)])
