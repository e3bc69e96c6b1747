"""Run the core contract on every version of Spark that we work with: `make matrix`, or `tools/matrix.py 4.0` for one.

Headway is installed from a wheel beside each version of PySpark, in an environment of its own below `.matrix`. Tests that
carry the mark `core` name the promise that they hold. What came out is a table of versions by promises: on the terminal, in
`docs/versions.md`, and, if no version was left out, in the ledger, a line for each environment (claim X4).
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from matrix_table import Outcome, Table, outcomes, written

from headway.errors import HeadwayError
from headway_lab.harness.ledger import Ledger

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".matrix"
PAGE = ROOT / "docs" / "versions.md"
SPARKS = ("4.0", "4.1", "4.2", "4.3")
PYTHONS = ("3.11", "3.12", "3.13")
JAVAS = ("17", "21")
TEST_TOOLS = ("pytest", "pytest-timeout", "hypothesis")
MINUTES = 15  # a version that hangs does not keep the others from being tried


@dataclass(frozen=True, slots=True)
class Run:
    """One version of everything, and where Python and Java of these versions are."""

    spark: str
    python: str
    java: str
    interpreter: Path
    java_home: Path

    @property
    def name(self) -> str:
        return f"Spark {self.spark}, Python {self.python}, Java {self.java}"

    @property
    def setting(self) -> dict[str, str]:
        """What the ledger says of it. Releases are named by their minor version, as claims name them."""
        minor = ".".join(self.spark.split(".")[:2])
        return {"environment": self.name, "spark": minor, "python": self.python, "java": self.java}

    @property
    def folder(self) -> Path:
        return PLACE / f"{self.spark}-py{self.python}"


def newest(offered: Iterable[str], minors: Iterable[str]) -> dict[str, str | None]:
    """The newest release of each minor version; None where there is none. Previews are no releases."""
    releases = [v for v in offered if re.fullmatch(r"\d+(\.\d+)+", v)]
    by_age = sorted(releases, key=lambda v: [int(part) for part in v.split(".")])
    return {minor: next((v for v in reversed(by_age) if v.startswith(minor + ".")), None) for minor in minors}


def chosen(sparks: list[str], pythons: dict[str, Path], javas: dict[str, Path]) -> list[Run]:
    """Every Spark with the first Python and the first Java; the last Spark with every other of them too."""
    first, java = next(iter(pythons)), next(iter(javas))
    triples = [(spark, first, java) for spark in sparks]
    triples += [(sparks[-1], python, java) for python in list(pythons)[1:]]
    triples += [(sparks[-1], first, other) for other in list(javas)[1:]]
    return [Run(s, p, j, pythons[p], javas[j]) for s, p, j in triples]


def offered() -> list[str]:
    """What the package index has."""
    told = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", "pyspark", "--disable-pip-version-check"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = re.search(r"Available versions: (.*)", told.stdout)
    if found is None:
        raise HeadwayError(f"no package index says which pyspark there is: {told.stderr.strip().splitlines()[-1:]}")
    return found[1].split(", ")


def pythons_here() -> dict[str, Path]:
    """Of the Pythons that we support, those on this machine: on the path, or with pyenv."""
    shelf = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = {}
    for version in PYTHONS:
        named = shutil.which(f"python{version}")
        for candidate in [*([Path(named)] if named else []), *sorted(shelf.glob(f"{version}.*/bin/python3"))]:
            asked = [str(candidate), "-c", "import sys; print(*sys.version_info[:2], sep='.')"]
            if subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() == version:
                found[version] = candidate
                break
    return found


def javas_here() -> dict[str, Path]:
    """Of the Javas that we support, those on this machine."""
    named = os.environ.get("JAVA_HOME")
    homes = [*([Path(named)] if named else []), *sorted(Path("/usr/lib/jvm").glob("*"))]
    found: dict[str, Path] = {}
    for home in homes:
        if (home / "bin" / "java").exists():
            asked = [str(home / "bin" / "java"), "-version"]
            told = subprocess.run(asked, capture_output=True, text=True, check=False).stderr
            major = told.partition('version "')[2].partition('"')[0].split(".")[0]
            if major in JAVAS:
                found.setdefault(major, home)
    return {version: found[version] for version in JAVAS if version in found}


def wheel() -> Path:
    """Headway as users get it, from a copy: a build in place would keep files that are gone from the sources."""
    with tempfile.TemporaryDirectory() as copy:
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, copy)
        shutil.copytree(ROOT / "src", Path(copy, "src"), ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
        _pip(Path(sys.executable), "wheel", "--no-deps", "-w", str(PLACE), copy)
    return max(PLACE.glob("headway-*.whl"), key=lambda path: path.stat().st_mtime)


def prepare(run: Run, package: Path) -> None:
    """An environment with this Spark, the versions of all else that are known to work, and Headway as it is now."""
    python = run.folder / "bin" / "python"
    if not python.exists():
        subprocess.run([str(run.interpreter), "-m", "venv", str(run.folder)], check=True)
    known = PLACE / "constraints.txt"
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    known.write_text("\n".join(line for line in lines if not line.startswith(("pyspark=", "py4j="))) + "\n")
    whole = f"headway[lab] @ {package.as_uri()}"  # tests use the laboratory's workloads
    _pip(python, "install", "-c", str(known), f"pyspark=={run.spark}", whole, *TEST_TOOLS)
    _pip(python, "install", "--no-deps", "--force-reinstall", str(package))


def _pip(python: Path, *words: str) -> None:
    subprocess.run([str(python), "-m", "pip", words[0], "-q", "--disable-pip-version-check", *words[1:]], check=True)


def core_tests() -> list[Path]:
    return [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if "mark.core(" in path.read_text("utf-8")]


def run_core(run: Run) -> list[Outcome]:
    """What became of each test; an empty list if there is no report, because nothing could be started."""
    report = run.folder / f"core-java{run.java}.xml"
    report.unlink(missing_ok=True)
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "SPARK_HOME", "PYSPARK_PYTHON")}
    environment |= {"JAVA_HOME": str(run.java_home)}
    python = str(run.folder / "bin" / "python")
    words = [python, "-m", "pytest", "-m", "core", "--without-kafka", f"--junitxml={report}", *map(str, core_tests())]
    try:
        subprocess.run(words, cwd=ROOT, env=environment, timeout=60 * MINUTES, check=False)
    except subprocess.TimeoutExpired:
        print(f"{run.name}: not done after {MINUTES} minutes", flush=True)
    return outcomes(report) if report.exists() else []


def write_down(ledger: Ledger, runs: Iterable[Run], table: Table) -> None:
    """A line for each environment: nothing is random here, so environments are what the claim is repeated over."""
    for run in runs:
        measures = {"broken": table.broken_on(run.name), "tests": len(table.results[run.name]), "missing": table.missing}
        ledger.append("matrix", "all", run.setting, 1, measures | {"promises": table.words_of(run.name)})


def main(wanted: list[str]) -> int:
    PLACE.mkdir(exist_ok=True)
    found = newest(offered(), wanted or SPARKS)
    pythons, javas = pythons_here(), javas_here()
    missing = [f"Spark {minor}" for minor, version in found.items() if version is None]
    missing += [f"Python {v}" for v in PYTHONS if v not in pythons] + [f"Java {v}" for v in JAVAS if v not in javas]
    if not pythons or not javas or not any(found.values()):
        raise HeadwayError(f"nothing to run with: not to be had here: {', '.join(missing)}")
    sparks = [version for version in found.values() if version is not None]
    runs = chosen(sparks, pythons, javas)[: len(sparks) if wanted else None]
    package = wheel()
    results: dict[str, list[Outcome]] = {}
    for run in runs:
        print(f"\n{run.name}", flush=True)
        prepare(run, package)
        results[run.name] = run_core(run)
    table = Table(results, missing)
    print(f"\n{table.text()}")
    if not wanted:
        written(PAGE, table)
        write_down(Ledger(ROOT / "bench" / "ledger.jsonl"), runs, table)
    return 1 if table.broken else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except HeadwayError as error:
        sys.exit(f"headway: {error}")
