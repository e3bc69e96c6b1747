"""The code that figures depend on: nothing that decides may be missing from it."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import headway
from headway_lab.harness.checkout import glob_pattern
from headway_lab.harness.claims import groups

SRC = Path(headway.__file__).parents[1]
# A journal has lines of these questions too, and whoever orders micro-batches never asks them.
OTHERS = ("placement", "adaptation", "fleet-world")
EXEMPT = {"src/headway/errors.py"}  # says what is wrong, decides nothing


def of(*names: str) -> set[str]:
    """The files that some groups name, by their place in the repository."""
    named = re.compile("|".join(glob_pattern(glob) for name in names for glob in groups()[name]))
    return {place for file in SRC.rglob("*.py") if named.fullmatch(place := f"src/{file.relative_to(SRC).as_posix()}")}


@cache
def imports(place: str) -> frozenset[str]:
    """Files of ours that a file imports, by their places; packages that only hold their modules together are none."""
    return frozenset(_imports(ast.walk(ast.parse((SRC.parent / place).read_text("utf-8")))))


def _imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            for module in (f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)):
                file = SRC.joinpath(*module.split(".")).with_suffix(".py")
                if module.startswith("headway.") and file.exists():
                    yield f"src/{file.relative_to(SRC).as_posix()}"


def reached(starts: Iterable[str], never: Iterable[str] = ()) -> set[str]:
    """What some files import, and what that imports, and so on; `never` is not looked into."""
    found, left = set(never), list(starts)
    while left:
        if (place := left.pop()) not in found:
            found.add(place)
            left += imports(place)
    return found - set(never) - EXEMPT


def test_all_that_the_loop_imports_is_in_its_group() -> None:
    """Or a figure would be called fresh after the rule of what is due had changed."""
    others = of(*OTHERS) - of("controller")
    loop = reached(of("controller"), never=others)
    assert {"src/headway/loop/kernel.py", "src/headway/estimate/due.py", "src/headway/model/arrays.py"} <= loop
    assert sorted(loop - of("controller")) == []


def test_all_that_a_policy_imports_is_in_its_group_or_the_loops() -> None:
    for name in ("orders", "patience", "sampling", "tuner", *OTHERS):
        policies = {place for place in of(name) if "/policy/" in place or "/estimate/" in place}
        around = of("controller", "orders", "patience", "sampling", "tuner", *OTHERS)
        assert (policies or name == "fleet-world") and sorted(reached(policies) - around) == [], name
