"""The ledger keeps what was measured, also when a process was killed while writing."""

from dataclasses import asdict
from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway_lab.harness.bench import Run
from headway_lab.harness.ledger import Ledger, commit, key, newest, origin
from headway_lab.harness.setting import Setting
from headway_lab.harness.suite import measures

RUN = Run("klink", Setting(queries=2), 7, [100.0, 200.0, 600.0], [0, 900, 1_800], 0, 9, 1_200, 0, 0, 2_000.0, 80.0, 3.5, 2)


def test_a_run_comes_back_as_it_was_written(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "deep" / "ledger.jsonl")
    written = ledger.append("klink", RUN.policy, asdict(RUN.setting), RUN.seed, measures(RUN))
    (read,) = ledger.records()
    assert read == written
    assert (read["windows"], read["mean_ms"], read["p50_ms"], read["max_ms"]) == (3, 300.0, 200.0, 600.0)
    assert read["kind"] == "live" and read["commit"] == commit() and read["setting"]["queries"] == 2
    assert {"headway", "pyspark", "python", "java"} == read["versions"].keys()
    assert {"cpus", "memory_gb"} == read["host"].keys()


def test_no_ledger_yet_has_no_records(tmp_path: Path) -> None:
    assert Ledger(tmp_path / "none").records() == []


def test_a_torn_last_line_is_passed_over_and_does_not_spoil_the_next(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.append("klink", "klink", {"queries": 1}, 1, {})
    whole = ledger.path.read_bytes()
    ledger.path.write_bytes(whole + whole[: len(whole) // 2])
    assert len(ledger.records()) == 1
    ledger.append("klink", "stock", {"queries": 1}, 1, {})
    assert [r["policy"] for r in ledger.records()] == ["klink", "stock"]


def test_the_resume_key_tells_policy_setting_seed_and_commit_apart(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.append("klink", "klink", {"queries": 1, "rate": 2}, 1, {})
    now = origin()["commit"]
    assert ledger.done() == {key("klink", "klink", {"rate": 2, "queries": 1}, 1, now)}
    for other in (
        key("klink", "stock", {"queries": 1, "rate": 2}, 1, now),
        key("klink", "klink", {"queries": 1, "rate": 3}, 1, now),
        key("klink", "klink", {"queries": 1, "rate": 2}, 2, now),
        key("klink", "klink", {"queries": 1, "rate": 2}, 1, "other"),
        key("klink", "klink", {"queries": 1, "rate": 2}, 1, now, kind="sim"),
    ):
        assert other not in ledger.done()


def test_of_two_records_with_one_key_the_newer_counts(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    for mean in (1.0, 2.0):
        ledger.append("klink", "klink", {"queries": 1}, 1, {"mean_ms": mean})
    assert [r["mean_ms"] for r in newest(ledger.records())] == [2.0]


def test_some_other_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("[tool]\nname = 'x'\n")
    with pytest.raises(HeadwayError, match="some other file"):
        Ledger(tmp_path / "other").records()
