"""`headway sim moves`: schedules are played, counted and written down; one that breaks a law is made plain and kept."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from headway.errors import SettingError
from headway.sim.fleet_faults.fault_laws import judged
from headway.sim.fleet_faults.making import fleet_schedule
from headway.sim.fleet_faults.schedule import FleetSchedule
from headway.sim.fleet_faults.world import FleetRules
from headway_lab.experiments.moves import sim_command
from headway_lab.experiments.moves.run import ScheduleTally, plainest, play_many

APP = typer.Typer()
APP.command("moves")(sim_command.moves)
NO_PLANS = FleetRules(plans_come_along=False)
MOVE = {"do": "move", "at": 6_000, "query": "q0", "node": "n1", "id": "m0", "timeout": 8_000, "force": False, "times": 1}


def test_schedules_are_played_counted_and_written_to_the_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    args = ["--count", "6", "--jobs", "1", "--out", str(tmp_path / "bad.json"), "--ledger", str(ledger)]
    done = CliRunner().invoke(APP, args)
    assert done.exit_code == 0 and "6 schedules" in done.output and not (tmp_path / "bad.json").exists()
    record = json.loads(ledger.read_text())
    assert record["experiment"] == "moves" and record["kind"] == "sim" and record["setting"] == {"count": 6, "first": 0}
    assert {"commits_again", "refused_files", "answers_refused"} <= record.keys()  # 0 or not


def test_a_schedule_is_played_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    path.write_text(fleet_schedule(1, 5).as_json())
    done = CliRunner().invoke(APP, ["--replay", str(path)])
    assert done.exit_code == 0 and "no law was broken" in done.output
    missing = CliRunner().invoke(APP, ["--replay", str(tmp_path / "none.json")])
    assert isinstance(missing.exception, SettingError)


def test_parts_come_to_the_same_as_the_whole() -> None:
    whole, parts = ScheduleTally(), ScheduleTally()
    for part in play_many(1, range(12), jobs=1):
        whole.join(part)
    for numbers in (range(6), range(6, 12)):
        for part in play_many(1, numbers, jobs=1):
            parts.join(part)
    assert whole == parts and whole.plays == 12 and whole.batches > 0


def test_what_breaks_a_law_is_made_plain() -> None:
    """Where the plan of a batch does not come along, one move and the death of its target are enough."""
    more = ({"do": "crowd", "at": 12_000, "ms": 300}, {"do": "move", **MOVE, "at": 11_000, "query": "q1", "id": "m1"})
    for at in range(6_500, 9_500, 50):
        kill = {"do": "kill", "at": at, "who": "n1", "down": 9_000}
        schedule = FleetSchedule(str(at), actions=(MOVE, kill, *more))
        if broken := judged(schedule, NO_PLANS)[1]:
            small = plainest(schedule, broken[0].law, NO_PLANS)
            assert len(small.actions) == 2 and judged(small, NO_PLANS)[1]
            return
    pytest.fail("nothing was broken")
