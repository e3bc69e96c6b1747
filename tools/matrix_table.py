"""What became of the core contract, as a table of promises by versions."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

BEGIN, END = "<!-- matrix: begin -->", "<!-- matrix: end -->"
HELD, WITH_JAR, UNTRIED = "yes", "with the jar", "not tried"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test: which promise it holds, by which control source, and whether it did; None if it was left out."""

    promise: str
    channel: str  # jar or python
    held: bool | None


def outcomes(report: Path) -> list[Outcome]:
    """The tests of a JUnit report. One that failed to be set up has failed."""
    found = []
    for case in ElementTree.parse(report).iter("testcase"):
        named = {str(p.get("name")): str(p.get("value")) for p in case.iter("property")}
        bad = case.find("failure") is not None or case.find("error") is not None
        held = False if bad else None if case.find("skipped") is not None else True
        found.append(Outcome(named.get("promise", "tests that could not be read"), named.get("channel", "jar"), held))
    return found


def cell(tests: list[Outcome]) -> str:
    """A promise on one version, in words."""
    if not tests:
        return UNTRIED
    if failed := sum(t.held is False for t in tests):
        return f"NO, {failed} of {len(tests)} tests fail"
    held = {t.channel for t in tests if t.held}
    if not held:
        return UNTRIED
    without = [t for t in tests if t.channel == "python" and t.held is None]
    return WITH_JAR if without and "python" not in held else HELD


@dataclass(frozen=True, slots=True)
class Table:
    """Promises by versions."""

    results: dict[str, list[Outcome]]  # by the name of a run
    missing: list[str]  # what could not be had

    @property
    def promises(self) -> list[str]:
        return list(dict.fromkeys(test.promise for tests in self.results.values() for test in tests))

    @property
    def tests(self) -> int:
        return sum(len(tests) for tests in self.results.values())

    @property
    def broken(self) -> int:
        """Promises that are not held somewhere, counted wherever they are not."""
        return sum(self.broken_on(run) for run in self.results)

    def broken_on(self, run: str) -> int:
        """Promises that are not held there; where nothing ran at all, one."""
        return sum(word.startswith("NO") for word in self.words_of(run).values()) + (not self.results[run])

    def words_of(self, run: str) -> dict[str, str]:
        """What became of each promise there."""
        return {promise: self._cell(run, promise) for promise in self.promises}

    def _cell(self, run: str, promise: str) -> str:
        return cell([test for test in self.results[run] if test.promise == promise])

    def markdown(self) -> str:
        head = ["promise", *(run.replace(", ", "<br>") for run in self.results)]
        rows = [head, ["---"] * len(head), *([p, *(self._cell(run, p) for run in self.results)] for p in self.promises)]
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        return "\n".join([*lines, "", self._had()])

    def text(self) -> str:
        lines = []
        for run, tests in self.results.items():
            words: dict[str, list[str]] = {}
            for promise in self.promises:
                words.setdefault(self._cell(run, promise), []).append(promise)
            lines += [f"{run}: {len(tests)} tests", *(f"  {word:<14} {'; '.join(of)}" for word, of in words.items())]
        return "\n".join([*lines, self._had()])

    def _had(self) -> str:
        return f"Not to be had on this machine: {', '.join(self.missing)}." if self.missing else "All versions were there."


def written(page: Path, table: Table) -> None:
    """Put the table in its place on a page."""
    old: str = page.read_text("utf-8")
    place = re.compile(re.escape(BEGIN) + r".*?" + re.escape(END), re.DOTALL)
    made: Any = place.sub(lambda _: f"{BEGIN}\n{table.markdown()}\n{END}", old)
    page.write_text(made, "utf-8")
