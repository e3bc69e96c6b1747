"""`make matrix`: which versions it takes, and what it makes of what they did."""

import sys
from pathlib import Path

import pytest

from headway_lab.harness.checkout import Checkout
from headway_lab.harness.claims import load
from headway_lab.harness.ledger import Ledger
from headway_lab.harness.verdicts import judge

TOOLS = Path(__file__).parents[1] / "tools"
sys.path.insert(0, str(TOOLS))

import matrix  # noqa: E402 - the tools are no package
from matrix_table import BEGIN, END, Outcome, Table, cell, outcomes, written  # noqa: E402

OLD, NEW = "Spark 4.0.5, Python 3.11, Java 17", "Spark 4.3.0, Python 3.11, Java 17"


def test_the_newest_release_of_each_is_taken_and_what_is_not_offered_is_none() -> None:
    offered = ["4.2.0.dev1", "4.1.9", "4.1.10", "4.0.0", "4.0.5", "3.5.9", "4.2.0rc1"]
    assert matrix.newest(offered, ("4.0", "4.1", "4.2")) == {"4.0": "4.0.5", "4.1": "4.1.10", "4.2": None}


def test_every_spark_is_run_once_and_the_last_of_them_with_everything_that_is_here() -> None:
    pythons = {version: Path(version) for version in ("3.11", "3.13")}
    javas = {version: Path(version) for version in ("17", "21")}
    runs = matrix.chosen(["4.0.5", "4.3.0"], pythons, javas)
    assert [(r.spark, r.python, r.java) for r in runs] == [
        ("4.0.5", "3.11", "17"), ("4.3.0", "3.11", "17"), ("4.3.0", "3.13", "17"), ("4.3.0", "3.11", "21"),
    ]  # fmt: skip
    assert runs[0].name == OLD and runs[2].interpreter == Path("3.13") and runs[3].java_home == Path("21")


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        ([], "not tried"),
        ([("jar", True), ("python", True)], "yes"),
        ([("jar", True), ("python", None)], "with the jar"),
        ([("jar", True), ("jar", None), ("python", True)], "yes"),
        ([("jar", None), ("python", None)], "not tried"),
        ([("jar", False), ("python", None), ("python", True)], "NO, 1 of 3 tests fail"),
    ],
)
def test_a_promise_is_told_in_words(tests: list[tuple[str, bool | None]], words: str) -> None:
    assert cell([Outcome("p", channel, held) for channel, held in tests]) == words


def test_a_report_is_read_by_promise_and_control_source(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    named = '<properties><property name="promise" value="{}"/><property name="channel" value="{}"/></properties>'
    cases = [
        named.format("gate", "jar"),
        named.format("gate", "python") + "<skipped/>",
        named.format("late", "jar") + "<failure/>",
        "<error/>",
    ]
    report.write_text(
        "<testsuites><testsuite>" + "".join(f"<testcase>{c}</testcase>" for c in cases) + "</testsuite></testsuites>"
    )
    assert outcomes(report) == [
        Outcome("gate", "jar", True), Outcome("gate", "python", None), Outcome("late", "jar", False),
        Outcome("tests that could not be read", "jar", False),
    ]  # fmt: skip


def test_the_table_goes_to_its_place_on_the_page_and_counts_what_is_broken(tmp_path: Path) -> None:
    good, bad = Outcome("gate", "jar", True), Outcome("late", "jar", False)
    table = Table({OLD: [good, bad], NEW: [good, Outcome("late", "jar", True)], "Spark 4.4.0": []}, ["Java 21"])
    assert table.broken == 2 and table.tests == 4  # one promise, and a version on which nothing ran
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    written(page, table)
    lines = page.read_text().splitlines()
    assert lines[0] == "before" and lines[-1] == "after" and "old" not in lines
    assert "| late | NO, 1 of 1 tests fail | yes | not tried |" in lines
    assert "Not to be had on this machine: Java 21." in lines and "Java 21" in table.text()


def test_each_environment_is_a_line_of_the_ledger(tmp_path: Path) -> None:
    """So that the claim is judged over all of them, and one that is missing or broken shows."""
    runs = matrix.chosen(["4.0.5", "4.3.0"], {"3.11": Path("p")}, {"17": Path("j")})
    results = {OLD: [Outcome("gate", "jar", True), Outcome("late", "jar", False)], NEW: [Outcome("gate", "jar", True)]}
    ledger = Ledger(tmp_path / "ledger.jsonl")
    matrix.write_down(ledger, runs, Table(results, ["Java 21"]))
    (claim,) = (claim for claim in load() if claim.id == "X4")
    (finding,) = judge([claim], ledger.records(), Checkout(None))
    assert finding.verdict == "not reproduced" and finding.words()[0].startswith("live: 1 in all (0..1, 2 environments)")
    first, second = ledger.records()
    assert (first["broken"], first["tests"], first["setting"]["spark"]) == (1, 2, "4.0")
    assert (second["broken"], second["promises"], second["missing"]) == (
        0,
        {"gate": "yes", "late": "not tried"},
        ["Java 21"],
    )


def test_the_page_has_a_place_for_the_table_and_each_core_test_names_a_promise() -> None:
    assert BEGIN in matrix.PAGE.read_text() and END in matrix.PAGE.read_text()
    assert len(matrix.core_tests()) >= 8
