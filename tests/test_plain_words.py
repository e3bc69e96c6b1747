"""Plain words, where a machine can tell: names say what a thing is, and messages do not speak of things as of people."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src"
FILES = sorted(SRC.rglob("*.py"))

# What a reader cannot know the meaning of at first sight, and what to call it instead.
RIDDLES = {
    "given": "arguments, or what was given: a header, a duration, a column",
    "who": "what it is: a node, a policy, a label",
    "whom": "what it is: a node, a query",
    "whoever": "what it is",
    "nobody": "no query, no node, none",
    "somebody": "what it is: a user, a caller, a node",
    "anybody": "what it is: any query, any node",
    "leash": "process_guard",
    "Aside": "Background",
    "Cut": "PlanBoundary, or what is cut off from what",
    "Ends": "PartitionEnds, or of what these are the ends",
    "Fields": "OffsetFields, or whose fields they are",
    "Swap": "OffsetSwap, or what is exchanged for what",
    "Told": "what was told to what: CoreMessage",
}
OF_PEOPLE = re.compile(r"\b(who|whom|whoever|nobody|somebody|anybody|everybody)\b", re.IGNORECASE)


def tree_of(path: Path) -> ast.Module:
    """One at a time: hundreds of trees at once would keep the garbage collector busy for all tests of this process."""
    return ast.parse(path.read_text("utf-8"))


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Names that the code makes or uses, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name


def riddles(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for line, name in names(tree):
        if instead := RIDDLES.get(name.strip("_")) or (name.isupper() and RIDDLES.get(name.lower())):
            yield line, f"`{name}`: say {instead}"


def messages(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts that a user may come to read: all but docstrings."""
    apart = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart:
            yield node.lineno, node.value


def test_names_are_no_riddles() -> None:
    assert [f"{path}:{line}: {what}" for path in FILES for line, what in riddles(tree_of(path))] == []


def test_messages_speak_of_things_as_of_things() -> None:
    """Say a query, a node or a source where it is one, and a user where it is a person."""
    product = [path for path in FILES if path.relative_to(SRC).parts[0] == "headway"]
    read = [(path, line, text) for path in product for line, text in messages(tree_of(path)) if " " in text]
    assert len(read) > 1_000
    # One word alone, which is left out, is a key of a schedule of faults, or an option, and no sentence.
    assert [f"{path}:{line}: {text}" for path, line, text in read if OF_PEOPLE.search(text)] == []


@pytest.mark.parametrize(
    "code",
    ["def f(given): ...", "class Cut: ...", "self._who = 1", "NOBODY = 1", "async def whoever(): ...", "x = told.Told"],
)
def test_a_riddle_is_found(code: str) -> None:
    assert len(list(riddles(ast.parse(code)))) == 1


@pytest.mark.parametrize("code", ["ENDS = 1", "fields = 1", "told = 1", "def cut(): ..."])
def test_what_only_looks_like_one_is_left_alone(code: str) -> None:
    assert list(riddles(ast.parse(code))) == []


def test_a_docstring_is_no_message() -> None:
    tree = ast.parse('def f():\n    """For nobody."""\n    raise E(f"held by {holder}, whoever that is")')
    assert [text for _, text in messages(tree) if OF_PEOPLE.search(text)] == [", whoever that is"]
