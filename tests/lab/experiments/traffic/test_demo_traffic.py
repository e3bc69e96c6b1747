"""The traffic demo on real Spark, made small, and what it shows."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from headway.cli.app import main
from headway.policy.patience import SlackGate
from headway_lab.experiments.traffic import demo as demo_traffic
from headway_lab.experiments.traffic import page as traffic_page
from headway_lab.experiments.traffic.run import (
    TrafficOutcome,
    TrafficPlan,
    TrafficResult,
    WatchedQuery,
    counting,
    per_window,
    play,
)
from headway_lab.workloads.traffic import found, troubles

BASE = 1_700_000_000_000


def words(shown: Any) -> str:
    text = io.StringIO()
    Console(file=text, width=160).print(shown)
    return text.getvalue()


@pytest.mark.spark
def test_patience_that_covers_the_delay_finds_every_event_and_nothing_else(spark: Any, tmp_path: Path) -> None:
    """The buses are behind by the end, further than anybody was told; the gate waits for their rows."""
    plan = TrafficPlan({"gate": SlackGate("1 minute")}, seconds=3, lead_s=1, settle_s=1, quiet_s=0)
    shown: list[str] = []

    played = play(
        spark, plan, tmp_path, lambda p, seen, truth: shown.append(words(traffic_page.table(p, seen, truth, BASE)))
    )

    (gate,) = played.outcomes
    assert len(played.truth) > 10 and played.behind_s[-1] > 0.5
    assert gate.events == played.truth and gate.late == 0
    assert traffic_page.judged(gate, played.truth) == (len(played.truth), 0, 0)
    assert "gate" in shown[-1] and "100%" in shown[-1]
    assert len(gate.latencies_ms) == len(played.plan.ends_ms) == len(per_window(played.plan, gate.events))
    demo_traffic._show(played, 6_000, tmp_path / "report")
    html = (tmp_path / "report" / "traffic.html").read_text()
    assert all(heading in html for heading in ("Latency", "Patience", "Late rows", "Detected events"))


def test_only_windows_of_the_stretch_count() -> None:
    plan = TrafficPlan({}, BASE + 123, 4)
    bus, road = plan.streams()
    truth = counting(plan, found(troubles(bus, "bus"), troubles(road, "road")))
    assert plan.ends_ms == [BASE + s * 1_000 for s in (1, 2, 3, 4)]
    assert {end for end, _ in truth} == set(plan.ends_ms)
    assert sum(per_window(plan, truth)) == len(truth)


def test_the_buses_of_a_plan_are_on_time_first_and_then_fall_behind() -> None:
    plan = TrafficPlan({}, BASE, 25)
    bus, road = plan.streams()
    behind = {int((at - BASE) // 1_000): (at - made) / 1_000 for at, made in zip(bus.arrival_ms, bus.event_ms, strict=True)}
    assert behind[2] < 0.1 and behind[13] == pytest.approx(4.5, abs=0.6) and behind[22] == pytest.approx(8.3, abs=0.8)
    assert (road.arrival_ms == road.event_ms).all()


def test_the_page_tells_what_was_found_and_what_was_late() -> None:
    plan = TrafficPlan({}, BASE, 3)
    truth = {(BASE + 1_000, 1): (2, 1), (BASE + 1_000, 2): (1, 1), (BASE + 2_000, 1): (1, 1), (BASE + 2_000, 3): (1, 1)}
    seen = WatchedQuery([(BASE + 3_000, BASE + 2_000, 3)], [(BASE + 500, 2_000, 0), (BASE + 2_500, 2_000, 1_234)])
    events = {(BASE + 1_000, 1): (1, 1), (BASE + 1_000, 2): (1, 1), (BASE + 2_000, 1): (1, 1)}
    played = TrafficResult(plan, truth, [0.0, 1.0, 2.0], [TrafficOutcome("fixed", seen, [2_000.0, 1_000.0], events)])

    assert traffic_page.judged(played.outcomes[0], truth) == (3, 1, 0)
    html = traffic_page.page(played, 6_000)
    assert "fixed 1.5 s (at most 2.0)" in html and "fixed 1,234" in html and "fixed 75%" in html
    told = words(traffic_page.summary(played, 1_500))
    assert "75.0%" in told and "1,234" in told
    live = words(traffic_page.table(plan, {"fixed": seen}, truth, BASE + 1_000))
    assert "2 s left" in live and "75%" in live and "1,234" in live


def test_bars_are_full_at_ten_seconds() -> None:
    assert traffic_page.sparks([-50, 0, 1_300, 5_000, 9_999, 60_000]) == "▁▁▂▅██"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("demo traffic --seconds 0", "seconds = 0: expected 1 or more"),
        ("demo traffic --rate 0", "rate = 0: expected 1 or more"),
        ("demo traffic --deadline 0", "deadline = 0.0: expected more than 0 seconds"),
        ("demo traffic --slt soon", "patience.slt = 'soon'"),
        ("demo traffic --patience -1", "patience = '-1'"),
        ("demo traffic --out none/deep", "out = 'none/deep': expected a file in a folder that exists"),
        ("demo traffic --memory lots", "memory = 'lots': expected a size such as 4g"),
        ("demo traffic --real", "HEADWAY_DATA = 'gone' is no folder: it must name the folder that holds city/"),
        ("demo tram", "No such command 'tram'"),
    ],
)
def test_what_a_user_can_fix_is_told_in_one_line(
    line: str, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADWAY_DATA", "gone")
    monkeypatch.chdir(tmp_path)
    assert main(line.split()) == 2
    err = capsys.readouterr().err
    assert says in err and err.count("\n") == 1
