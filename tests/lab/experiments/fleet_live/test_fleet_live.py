"""The parts of the live fleet that need no Spark: rows, groups, scenes, figures, the screen and the page."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from typer.testing import CliRunner

from headway import pipeline
from headway.cli.app import app
from headway.errors import HeadwayError, SettingError
from headway.fleet.fleet_client import FleetClient
from headway.fleet.orchestrator.wire import FleetStanding, MoveWanted, QueryStanding
from headway.model.time import WallMs
from headway_lab.experiments.fleet_live import page, queries, run
from headway_lab.experiments.fleet_live.feed import RowFeed
from headway_lab.experiments.fleet_live.scenes import scene
from headway_lab.experiments.fleet_live.slices import PREFIX, CoreSlices
from headway_lab.experiments.fleet_live.stage import StagePlan
from headway_lab.experiments.fleet_live.staged_fleet import arranged
from headway_lab.experiments.fleet_live.story import FleetStory
from headway_lab.experiments.fleet_live.watch import FleetMove, FleetSample, SinkWindow, wait_until
from headway_lab.harness import screen
from headway_lab.harness.claims import load as claims

NAMES, NODES = queries.names(12), ["n1", "n2", "n3"]


def test_rows_come_in_whole_files_and_are_counted(tmp_path: Path) -> None:
    feed = RowFeed(tmp_path / "rows", ["a", "b"])
    feed.send({"a": 40})
    assert wait_until(lambda: feed.total >= 80, 30)
    feed.send({})
    feed.stop()
    files = sorted((tmp_path / "rows/a").iterdir())
    rows = [[json.loads(line) for line in file.read_text().splitlines()] for file in files]
    assert [len(one) for one in rows] == [40] * len(files) and feed.sent == {"a": 40 * len(files), "b": 0}
    for file, own in zip(files, rows, strict=True):
        second = int(file.stem)
        assert all(1000 * (second - 1) <= row["at"] < 1000 * second <= 1000 * time.time() for row in own)
    assert list((tmp_path / "rows/b").iterdir()) == []


def test_the_pipeline_file_declares_every_query(tmp_path: Path) -> None:
    file = tmp_path / "counted.py"
    file.write_text(queries.pipeline_text(NAMES, tmp_path / "rows", 1.5, 4_000))
    assert pipeline.declared(file) == NAMES and str(tmp_path / "rows") in file.read_text()


def limits(mounts: Path) -> dict[str, str]:
    return {
        f.parent.name.rpartition("-")[2]: f.read_text()
        for f in mounts.rglob("*")
        if f.name.endswith(("quota_us", "cpu.max"))
    }


def test_groups_are_limited_and_removed_in_both_versions(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for controller in ("cpu", "cpuacct"):
        (first / controller).mkdir(parents=True)
    second.mkdir()
    (second / "cgroup.controllers").write_text("cpu")
    (second / f"{PREFIX}1-n1").mkdir()  # of a run that was killed
    one, two = CoreSlices(["n1", "n2"], 0.6, first), CoreSlices(["n1"], 0.6, second)
    assert limits(first) == {"n1": "-1", "n2": "-1"} and limits(second) == {"n1": "max 50000"}
    weighed = [{file.name: file.read_text() for file in mounts.rglob("cpu.[sw]*")} for mounts in (first, second)]
    assert weighed == [{"cpu.shares": "16384"}, {"cpu.weight": "1600"}], "others who are busy take nothing of them"
    one.limit(True)
    two.limit(True)
    assert limits(first) == {"n1": "30000", "n2": "30000"} and limits(second) == {"n1": "30000 50000"}
    assert (second / "cgroup.subtree_control").read_text() == "+cpu" and not (second / f"{PREFIX}1-n1").exists()
    for file in [f for f in tmp_path.rglob("*") if f.is_file()]:
        file.unlink()  # a control group has no files that were made
    one.close()
    two.close()
    assert not list(tmp_path.rglob(f"{PREFIX}*"))


def test_where_no_groups_can_be_made_one_line_says_so(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="no control groups can be made"):
        CoreSlices(["n1"], 0.6, tmp_path / "nothing")


def counts(places: Mapping[str, str], among: tuple[str, ...]) -> list[int]:
    return [sum(places[query] == node for query in among) for node in NODES]


def test_scenes_are_those_of_the_paper() -> None:
    crowded, even = scene("internal", False, NAMES, NODES), scene("internal", True, NAMES, NODES)
    assert counts(crowded.places, crowded.heavy) == [6, 0, 0] and counts(crowded.places, tuple(NAMES)) == [6, 3, 3]
    assert counts(even.places, even.heavy) == [2, 2, 2] and counts(even.places, tuple(NAMES)) == [4, 4, 4]
    assert not crowded.awake and crowded.hog is even.hog is None
    disturbed, quiet = scene("external", False, NAMES, NODES), scene("external", True, NAMES, NODES)
    assert disturbed.hog == "n1" and quiet.hog is None and disturbed.places == quiet.places == even.places
    assert disturbed.awake and disturbed.heavy == crowded.heavy


class MovingFleet:
    """Answers as a primary does: a query that was asked for is on its way for so many looks."""

    def __init__(self, homes: dict[str, str], on_the_way: dict[str, int]) -> None:
        self.homes, self.left, self.asked = homes, on_the_way, list[tuple[str, str]]()

    def standing(self) -> FleetStanding:
        told = []
        for name, node in self.homes.items():
            left = self.left[name] = max(0, self.left.get(name, 0) - 1)
            told.append(QueryStanding(name, "p.py", 1, "trial" if left else "serving", node, 1, move="to" if left else None))
        return FleetStanding("o1", True, None, WallMs(0), queries=tuple(told))

    def ask(self, action: str, wanted: MoveWanted) -> None:
        assert action == "move" and not self.left.get(wanted.query), "a query that is being moved takes no other move"
        self.asked.append((wanted.query, wanted.node))
        self.homes[wanted.query], self.left[wanted.query] = wanted.node, 3


def test_every_query_is_where_an_arm_begins_also_one_that_was_being_moved_when_the_last_one_ended() -> None:
    fleet = MovingFleet({"q01": "n1", "q02": "n2", "q03": "n3"}, {"q02": 4})
    places = {"q01": "n2", "q02": "n1", "q03": "n3"}
    looks = [arranged(cast(FleetClient, fleet), places) for _ in range(8)]
    assert looks[-1] and not looks[0] and fleet.homes == places and sorted(fleet.asked) == [("q01", "n2"), ("q02", "n1")]


def test_policies_get_the_times_of_the_stage() -> None:
    plan = StagePlan(cool_down_ms=1, rest_ms=2)
    assert plan.policy("never-move") == "never-move" and plan.policy("random") == "random:cool_down_ms=1,rest_ms=2"
    assert plan.policy("prediction-rings") == "prediction-rings:threshold=0,cool_down_ms=1,rest_ms=2"
    with pytest.raises(SettingError, match="expected one of"):
        plan.policy("luck")


def samples(seconds: int) -> list[FleetSample]:
    """600 rows a second are sent, 400 read until second 20 and 700 from then on, when a query moves."""
    made = []
    for second in range(seconds):
        read = 400 * min(second, 20) + 700 * max(0, second - 20)
        homes = {"q01": "n1" if second < 20 else "n2", "q02": "n1"}
        out = (SinkWindow("q01", homes["q01"], 9_000 if second < 20 else 1_000 + second),)
        made.append(
            FleetSample(1_000 * second, 600 * second, read, {"n1": 2.0, "n2": 1.0 if second < 20 else 2.0}, homes, out)
        )
    return made


def test_arms_begin_with_a_window_and_last_as_long_as_something_can_move() -> None:
    plan = run.ArmPlan("internal", seconds=70, steady=40)
    assert {arm: plan.lasts(arm) for arm in run.ARMS[:3]} == {"near-ideal": 40, "never-move": 40, "prediction-rings": 70}
    assert run.ArmPlan("internal", seconds=35, steady=40).lasts("never-move") == 35
    for at_ms in (1_000_000, 1_000_001, 1_005_999, 1_006_000, 1_006_001):
        waited = run.calm_s(at_ms, 10_000)
        assert run.CALM_S <= waited < run.CALM_S + 10 and (at_ms + 1000 * waited) % 10_000 == pytest.approx(0)


def test_an_arm_is_judged_by_its_last_part() -> None:
    found = run.figures(samples(41), 30_000, 40_000, moves=3)
    assert (found["throughput"], found["sent_per_s"], found["moves"], found["load_sd"]) == (700.0, 600.0, 3, 0.0)
    assert found["unread"] == 600 * 40 - (400 * 20 + 700 * 20) and found["p50_ms"] == 1_035.0 and found["windows"] == 11
    assert run.figures([], 0, 1, 0)["throughput"] == 0.0


def test_the_screen_and_the_page_tell_the_story() -> None:
    story = FleetStory(StagePlan(), ("q01",), [(0, "calm"), (10_000, "trouble")], samples(30))
    story.moves = [FleetMove(19_000, "q01", "n1", "n2", "takes away 40% of 3")]
    story.disturbed = "n2"
    with screen.out.capture() as caught:
        screen.out.print(page.live(story))
        screen.out.print(page.summary(story))
    shown = caught.get()
    for words in ("trouble; 0 s left", "n2 + program", "q01 has moved from n1 to n2", "rows/s", "calm"):
        assert words in shown, words
    text = page.page(story, "prediction-rings")
    for words in ("takes away 40% of 3", "Where each query was", "Spread of the load", "plotly"):
        assert words in text, words


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("demo", "fleet", "--policy", "luck"), "placement = 'luck"),
        (("demo", "fleet", "--seconds", "1"), "seconds = 1: expected 5 or more"),
        (("bench", "fleet", "--arms", "luck"), "arms = 'luck': expected one of near-ideal"),
        (("bench", "fleet", "--scenarios", "war"), "scenarios = 'war': expected one of internal, external"),
        (("bench", "fleet", "--seconds", "10", "--judged", "20"), "seconds = 10: expected 22 or more"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_starts(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    more = ("--ledger", str(tmp_path / "l.jsonl")) if words[0] == "bench" else ("--out", str(tmp_path / "out"))
    found = CliRunner().invoke(app, [*words, *more])
    assert found.exit_code != 0 and says in str(found.exception)


def test_the_claims_name_what_is_measured() -> None:
    own = [claim for claim in claims() if claim.experiment == "fleet-live"]
    known = run.figures(samples(41), 30_000, 40_000, 0).keys() | {"agent_share"}
    assert own and {claim.field for claim in own} <= known
    assert {claim.candidate for claim in own} | {b for claim in own for b in claim.baselines} <= set(run.ARMS)
