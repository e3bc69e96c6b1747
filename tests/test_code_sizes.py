"""Nothing is so large that it cannot be read at once: files, classes, functions, and what a function is given.

A greater one is possible, with a reason here and beside it. What has become smaller leaves the list.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src"
FILES = sorted(SRC.rglob("*.py"))
LINES, METHODS, LONG, ARGUMENTS = 300, 15, 50, 7

CALL = "users call it: each setting has a name, a default and a line of its docstring"
REASONS: dict[str, str] = {
    "headway/spark/runtime.py: Runtime.watermark: arguments": CALL,
    "headway/spark/runtime.py: Runtime.approximate: arguments": CALL,
    "headway/spark/runtime.py: Runtime.merge: arguments": CALL,
    "headway/spark/runtime.py: Runtime.start: arguments": CALL,
    "headway/spark/session.py: session: arguments": CALL,
    "headway/policy/order/klink.py: expected_slack: arguments": "the terms of Eq. 8, by their names",
    "headway/sim/microbatch.py: VirtualWorld.__init__: arguments": CALL,
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def found() -> dict[str, int]:
    """All that is larger than it should be, and how large it is."""
    return {f"{path.relative_to(SRC)}: {what}": size for path in FILES for what, size in too_large(path.read_text())}


def too_large(text: str) -> Iterator[tuple[str, int]]:
    if (lines := len(text.splitlines())) > LINES:
        yield "lines", lines
    for name, node in _named(ast.parse(text), ""):
        if isinstance(node, ast.ClassDef):
            methods = sum(isinstance(part, Function) for part in node.body) + sum(_pasted(part) for part in node.body)
            if methods > METHODS:
                yield f"{name}: methods", methods
            continue
        assert node.end_lineno is not None
        if (lines := node.end_lineno - node.lineno + 1) > LONG:
            yield f"{name}: lines", lines
        if (arguments := _arguments_of(node)) > ARGUMENTS:
            yield f"{name}: arguments", arguments


def _named(node: ast.AST, within: str) -> Iterator[tuple[str, ast.ClassDef | Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | Function):
            yield within + child.name, child
            yield from _named(child, f"{within}{child.name}.")
        else:
            yield from _named(child, within)


def _pasted(part: ast.stmt) -> bool:
    """A function that is made a method by assignment, `watermark = watermark`, is one all the same."""
    return isinstance(part, ast.Assign) and isinstance(part.value, ast.Name)


def _arguments_of(node: Function) -> int:
    """How many arguments a function has. Those of a command are its options, which nobody gives by place."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    if any(arg.annotation is not None and "typer" in ast.unparse(arg.annotation) for arg in arguments):
        return 0
    more = sum(arg is not None for arg in (node.args.vararg, node.args.kwarg))
    return len([arg for arg in arguments if arg.arg not in ("self", "cls")]) + more


def test_nothing_is_too_large_to_be_read_at_once() -> None:
    assert {w: size for w, size in found().items() if w not in REASONS} == {}


def test_no_reason_is_given_for_what_is_small() -> None:
    assert [what for what in REASONS if what not in found()] == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = 1\n" * 301, [("lines", 301)]),
        ("class A:\n" + "".join(f"    def m{n}(self): ...\n" for n in range(16)), [("A: methods", 16)]),
        ("class A:\n" + "".join(f"    m{n} = print\n" for n in range(16)), [("A: methods", 16)]),
        ("class A:\n    def f(self):\n" + "        pass\n" * 50, [("A.f: lines", 51)]),
        ("def f(a, b, c, d, *, e, g, **more): ...", []),
        ("def f(a, b, c, d, *, e, g, h, **more): ...", [("f: arguments", 8)]),
        ("def f(a: Annotated[int, typer.Option()], b, c, d, e, g, h, i): ...", []),
    ],
)  # fmt: skip
def test_what_is_counted(text: str, says: list[tuple[str, int]]) -> None:
    assert list(too_large(text)) == says
