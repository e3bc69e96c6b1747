"""The wheel: what it brings works where there is no checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KINDS = {".jar", ".toml", ".xml", ".c", ".typed", ".html", ".css", ".js", ".svg", ".json", ".yml"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # From a copy of what git knows: setuptools leaves its own folders beside what it builds.
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if name.startswith("src/") or name in ("pyproject.toml", "README.md", "LICENSE"):
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "source" / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "-w", str(folder)]
    built = subprocess.run([*pip, str(folder / "source")], capture_output=True, text=True, timeout=200)
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("headway-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def run(installed: Path, *args: str) -> str:
    """Python with what the wheel has before everything else, far from the checkout."""
    env = os.environ | {"PYTHONPATH": str(installed)}
    done = subprocess.run([sys.executable, *args], cwd=installed, env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_it_has_all_that_is_no_python(installed: Path) -> None:
    sources = [path for path in (ROOT / "src").rglob("*") if path.suffix in KINDS]
    there = {path: (installed / path.relative_to(ROOT / "src")).is_file() for path in sources}
    assert sources and there == dict.fromkeys(sources, True)


@pytest.mark.slow
def test_its_commands_run_and_find_what_they_need(installed: Path) -> None:
    assert "headway 0." in run(installed, "-m", "headway", "--version")
    jar = run(installed, "-m", "headway", "jar").strip()
    assert Path(jar).is_file() and Path(jar).is_relative_to(installed)
    assert "K1" in run(installed, "-m", "headway", "claims", "--json", "--ledger", os.devnull)
