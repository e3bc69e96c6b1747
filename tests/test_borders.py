"""The arrows of the imports: the tree tells the story, and this keeps it true."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "headway"
FILES = sorted(SRC.rglob("*.py"))
LAB = SRC.with_name("headway_lab")

# Who may import whom; a room may always import itself and the errors. What is not listed may import nothing of ours.
ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "model": set(),
    "estimate": {"model"},
    "policy": {"model", "estimate"},
    "loop": {"model", "estimate"},
    "merge": set(),
    "lease": set(),
    "java": set(),
    "servers": set(),
    "kafka": {"java", "servers"},
    "fleet": {"model", "estimate", "policy", "loop", "lease", "java", "servers"},
    "spark": {"model", "policy", "loop", "lease", "kafka", "java", "fleet", "pipeline", "advice", "wan"},
    "sim": {"model", "estimate", "policy", "loop", "merge", "fleet"},
    "wan": {"model", "estimate", "policy", "loop", "kafka", "servers", "fleet", "pipeline"},
    "pipeline": set(),
    "advice": {"model", "policy", "sim"},
}
# Readers and users of everything else: they may import all rooms, and nobody but each other may import them.
TOP = {"cli", "dashboard", "testing", "__main__"}


def room(path: Path) -> str:
    """The part of the house that a file belongs to: `policy` for policy/order/klink.py, `errors` for errors.py."""
    return path.relative_to(SRC).with_suffix("").parts[0]


ROOMS = {room(path) for path in FILES}


@cache
def imported(path: Path) -> frozenset[str]:
    """Names of the modules that a file imports, at once or lazily."""
    return frozenset(_imports(path))


def _imports(path: Path) -> Iterator[str]:
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
    return (ours & ROOMS) - {room(path), "errors", "__init__"}


def roots(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path)}


def files_in(*names: str) -> list[Path]:
    """The files of some rooms. A law over no files would hold whatever they say."""
    found = [path for path in FILES if room(path) in names]
    assert found, f"no files in {names}"
    return found


def told(offenders: Iterable[Path]) -> list[str]:
    return [str(path.relative_to(SRC)) for path in offenders]


def test_only_the_spark_room_imports_pyspark() -> None:
    with_spark = [path for path in FILES if roots(path) & {"pyspark", "py4j"}]
    assert with_spark and told(path for path in with_spark if room(path) != "spark") == []


def test_a_room_imports_only_from_the_rooms_before_it() -> None:
    beyond = {path: rooms_of(path) - ARROWS[room(path)] for path in files_in(*ARROWS)}
    assert {str(path.relative_to(SRC)): rooms for path, rooms in beyond.items() if rooms} == {}


def test_the_product_knows_nothing_of_the_laboratory() -> None:
    assert told(path for path in FILES if "headway_lab" in roots(path)) == []


def test_the_harness_knows_no_experiment_and_workloads_know_neither() -> None:
    """An experiment may be taken away, with its claims, and everything else stands."""
    beyond = {"harness": ("experiments", "commands"), "workloads": ("harness", "experiments", "commands")}
    for place, others in beyond.items():
        files = sorted((LAB / place).rglob("*.py"))
        named = tuple(f"headway_lab.{other}" for other in others)
        assert files and [f.name for f in files if any(name.startswith(named) for name in imported(f))] == []


def test_a_light_install_is_all_that_the_product_needs() -> None:
    """Everything else is loaded where it is used, and named by an extra."""
    base = {"pyspark", "py4j", "numpy", "pyarrow", "pandas", "scipy", "typer", "rich", "psutil", "headway"}
    later = {"sklearn", "confluent_kafka", "statsmodels", "kazoo", "fastapi", "uvicorn", "httpx", "prometheus_client"}
    later |= {"textual", "opentelemetry"}
    beyond = {path: roots(path) - base - later - set(sys.stdlib_module_names) for path in FILES}
    assert told(path for path, names in beyond.items() if names) == []
    at_once = {path: {n.split(".")[0] for n in _imported_at_once(path)} & later for path in FILES}
    # An application of textual's is a class, so that is there before it; who loads the file loads it where it is used.
    assert told(path for path, names in at_once.items() if names) == ["dashboard/terminal.py"]
    assert told(path for path in FILES if "headway.dashboard.terminal" in _imported_at_once(path)) == []


def _imported_at_once(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_every_room_is_on_the_map() -> None:
    assert ROOMS - ARROWS.keys() - TOP == {"__init__"}
    assert ARROWS.keys() <= ROOMS, "rooms on the map that are not there"


def test_estimates_and_policies_know_no_clock_no_wire_and_no_thread() -> None:
    clocks, wires = {"time", "datetime", "random"}, {"socket", "os", "logging", "subprocess", "sqlite3", "pathlib"}
    world = clocks | wires | {"threading", "queue"}
    assert told(path for path in files_in("estimate", "policy") if roots(path) & world) == []


def test_the_model_knows_no_wire_and_no_thread() -> None:
    known = {"dataclasses", "functools", "itertools", "typing", "collections", "re", "math", "numpy", "headway"}
    foreign = {path: roots(path) - known for path in files_in("model")}
    assert told(path for path, names in foreign.items() if names - ({"time"} if path.name == "time.py" else set())) == []


def test_the_loop_asks_the_clock_it_was_given_and_no_other() -> None:
    def asks(path: Path) -> bool:
        # A stop watch for our own overhead is all that may look at the machine's time.
        times = {name for name in imported(path) if name.split(".")[0] in {"time", "datetime"}}
        return not times <= {"time", "time.thread_time"} or "import time\n" in path.read_text()

    assert told(filter(asks, files_in("loop", "testing"))) == []


def test_the_control_channel_knows_leases_by_their_port_alone() -> None:
    """So that another kind of lease changes nothing there."""
    channel = [path for path in FILES if path.parent.name == "channel"]
    port = {"headway.lease.port", "headway.lease.port.Lease"}
    leases = {
        path: {n for n in imported(path) if n.startswith(("headway.lease", "headway.spark.lease"))} for path in channel
    }
    assert channel and told(path for path, names in leases.items() if names - port) == []


def test_only_the_sessions_with_zookeeper_know_its_client() -> None:
    """Election, store and leases run on the tree in memory as well, and there they are tried in virtual time."""
    clients = [path for path in FILES if "kazoo" in roots(path)]
    assert clients and told(path for path in clients if path.parent.name != "zookeeper") == []


def test_nobody_else_knows_what_is_said_on_a_line() -> None:
    others = [path for path in FILES if path.parent.name != "channel"]
    lines = "headway.spark.channel.lines"
    assert told(path for path in others if any(name.startswith(lines) for name in imported(path))) == []


SPARKLESS = ["headway", "headway.loop.journal", "headway.testing", "headway.policy.load", "headway.pipeline"]


def test_what_needs_no_spark_does_not_load_it() -> None:
    def loads(module: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", f"import sys, {module}; sys.exit('pyspark' in sys.modules)"])

    assert {module: child.wait() for module, child in [(m, loads(m)) for m in SPARKLESS]} == dict.fromkeys(SPARKLESS, 0)


def test_there_are_no_utils() -> None:
    assert told(path for path in FILES if path.stem in {"utils", "util", "helpers", "common", "misc"}) == []


def test_the_dozen_names_of_the_package_are_all_there() -> None:
    import headway

    assert set(headway.__all__) == set(headway._WHERE)
    for name in sorted(set(headway.__all__) - {"Runtime", "session"}):
        assert getattr(headway, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        headway.nothing  # noqa: B018


def test_one_name_is_one_class() -> None:
    """Whoever reads of a `Gate` knows which."""
    places: dict[str, list[str]] = {}
    for path in [*FILES, *LAB.rglob("*.py")]:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(SRC.parent)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
