"""The arrows of the imports: the tree tells the story, and this keeps it true."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "headway"
FILES = sorted(SRC.rglob("*.py"))

# Who may import whom; a room may always import itself and the errors. What is not listed may import nothing of ours.
ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "model": set(),
    "estimate": {"model"},
    "policy": {"model", "estimate"},
    "loop": {"model", "estimate"},
    "merge": set(),
    "lease": set(),
    "workloads": set(),
    "kafka": {"workloads"},
    "spark": {"model", "policy", "loop", "lease", "kafka", "workloads"},
    "pipeline": set(),
}
# Readers and users of everything else: they may import all rooms, and nobody but each other may import them.
TOP = {"cli", "bench", "dashboard", "sim", "testing", "__main__"}


def room(path: Path) -> str:
    """The part of the house that a file belongs to: `policy` for policy/order/klink.py, `errors` for errors.py."""
    return path.relative_to(SRC).with_suffix("").parts[0]


def imported(path: Path) -> Iterator[str]:
    """Names of the modules that a file imports, at once or lazily."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: say where from, not 'from .'"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_of(path: Path) -> set[str]:
    """The rooms of ours that a file imports from, other than its own."""
    ours = {name.split(".")[1] for name in imported(path) if name.startswith("headway.")}
    known = {room(p) for p in FILES}
    return (ours & known) - {room(path), "errors", "__init__"}


def files_in(*names: str) -> list[Path]:
    return [path for path in FILES if room(path) in names]


def id_of(path: Path) -> str:
    return str(path.relative_to(SRC))


@pytest.mark.parametrize("path", FILES, ids=id_of)
def test_only_the_spark_room_imports_pyspark(path: Path) -> None:
    roots = {name.split(".")[0] for name in imported(path)}
    assert not roots & {"pyspark", "py4j"} or room(path) == "spark"


@pytest.mark.parametrize("path", [p for p in FILES if room(p) in ARROWS], ids=id_of)
def test_a_room_imports_only_from_the_rooms_before_it(path: Path) -> None:
    assert rooms_of(path) <= ARROWS[room(path)]


@pytest.mark.parametrize("path", [p for p in FILES if room(p) != "__init__"], ids=id_of)
def test_every_room_is_on_the_map(path: Path) -> None:
    assert room(path) in ARROWS or room(path) in TOP


@pytest.mark.parametrize("path", files_in("estimate", "policy"), ids=id_of)
def test_estimates_and_policies_know_no_clock_no_wire_and_no_thread(path: Path) -> None:
    roots = {name.split(".")[0] for name in imported(path)}
    world = {
        "time",
        "datetime",
        "socket",
        "threading",
        "queue",
        "os",
        "random",
        "logging",
        "subprocess",
        "sqlite3",
        "pathlib",
    }
    assert not roots & world


@pytest.mark.parametrize("path", files_in("model"), ids=id_of)
def test_the_model_knows_no_wire_and_no_thread(path: Path) -> None:
    roots = {name.split(".")[0] for name in imported(path)}
    assert roots <= {"dataclasses", "functools", "typing", "collections", "re", "time", "math", "numpy", "headway"}
    assert "time" not in roots or path.name == "time.py"


@pytest.mark.parametrize("path", files_in("loop", "testing"), ids=id_of)
def test_the_loop_asks_the_clock_it_was_given_and_no_other(path: Path) -> None:
    # A stop watch for our own overhead is all that may look at the machine's time.
    assert {name for name in imported(path) if name.split(".")[0] in {"time", "datetime"}} <= {"time", "time.thread_time"}
    assert "import time\n" not in path.read_text()


@pytest.mark.parametrize("path", [p for p in FILES if p.parent.name == "channel"], ids=id_of)
def test_the_control_channel_knows_leases_by_their_port_alone(path: Path) -> None:
    """So that another kind of lease changes nothing there."""
    leases = {name for name in imported(path) if name.startswith(("headway.lease", "headway.spark.lease"))}
    assert leases <= {"headway.lease.port", "headway.lease.port.Lease"}


@pytest.mark.parametrize("path", [p for p in FILES if p.parent.name != "channel"], ids=id_of)
def test_nobody_else_knows_what_is_said_on_a_line(path: Path) -> None:
    assert not {name for name in imported(path) if name.startswith("headway.spark.channel.lines")}


SPARKLESS = ["headway", "headway.loop.journal", "headway.testing", "headway.policy.load", "headway.pipeline"]


@pytest.mark.parametrize("module", SPARKLESS)
def test_what_needs_no_spark_does_not_load_it(module: str) -> None:
    code = f"import sys, {module}; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("path", FILES, ids=id_of)
def test_there_are_no_utils(path: Path) -> None:
    assert path.stem not in {"utils", "util", "helpers", "common", "misc"}


def test_the_dozen_names_of_the_package_are_all_there() -> None:
    import headway

    assert set(headway.__all__) == set(headway._WHERE)
    for name in sorted(set(headway.__all__) - {"Runtime", "session"}):
        assert getattr(headway, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        headway.nothing  # noqa: B018
