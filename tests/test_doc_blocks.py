"""What the pages show can be typed: Python is Python, arguments are those of the calls, and commands have such options."""

import ast
import inspect
import tomllib
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
import typer
from typer.main import get_command

import headway as hw
from doc_blocks import ROOT, DocBlock, blocks
from headway.cli.app import _add_plugins, app

LANGUAGES = {"", "python", "console", "bash", "yaml", "toml", "ini"}
BLOCKS = blocks()
PYTHON = [block for block in BLOCKS if block.language == "python"]
TYPED = [(block, words) for block in BLOCKS for words in block.commands()]


def test_every_block_names_a_language_that_is_looked_at() -> None:
    assert len(BLOCKS) > 50 and {block.language for block in BLOCKS} <= LANGUAGES


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.id)
def test_python_is_python_and_its_imports_are_there(block: DocBlock) -> None:
    tree = ast.parse(block.text, block.id)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = import_module(node.module or "")
            missing = [alias.name for alias in node.names if not hasattr(module, alias.name)]
            assert missing == []
    assert tree.body, "a block of nothing but comments"


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.id)
def test_calls_of_ours_take_what_they_are_given(block: DocBlock) -> None:
    wrong = [line for line in map(_fault, ast.walk(ast.parse(block.text))) if line]
    assert wrong == []


def _fault(node: ast.AST) -> str:
    """What is wrong with a call of `hw` or `rt`; nothing is said of other calls."""
    if not isinstance(node, ast.Call) or (found := _called(node.func)) is None:
        return ""
    arguments = [None] * len(node.args)
    named = {keyword.arg: None for keyword in node.keywords if keyword.arg is not None}
    try:
        inspect.signature(found).bind(*arguments, **named)
    except TypeError as error:
        return f"{ast.unparse(node)}: {error}"
    return ""


def _called(func: ast.expr) -> Any:
    names = _dotted(func)
    if len(names) < 2:
        return None
    if names[0] == "rt" and len(names) == 2:
        method = getattr(hw.Runtime, names[1])
        return method.__get__(object()) if inspect.isfunction(method) else None
    if names[0] == "hw":
        found: Any = hw
        for name in names[1:]:
            found = getattr(found, name)
        return found
    return None


def _dotted(func: ast.expr) -> list[str]:
    """`hw.patience.Fixed` as its parts; nothing where more than names is in it."""
    match func:
        case ast.Name(id=name):
            return [name]
        case ast.Attribute(value=of, attr=name):
            return [*before, name] if (before := _dotted(of)) else []
    return []


def test_a_wrong_argument_would_be_found() -> None:
    calls = list(ast.walk(ast.parse("rt.watermark(rows, 'at', '1 s', lat=3)\nhw.patience.Fixed('1 s', 5)")))
    assert [bool(fault) for fault in map(_fault, calls) if fault] == [True, True]


@pytest.mark.parametrize(
    ("block", "words"), TYPED, ids=lambda arguments: arguments.id if isinstance(arguments, DocBlock) else None
)
def test_commands_have_such_options(block: DocBlock, words: list[str]) -> None:
    match words[0]:
        case "headway":
            assert parsed(words[1:])
        case "pip":
            known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
            wanted = {extra for word in words for extra in _extras(word)}
            assert wanted <= set(known)
        case "make":
            assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text()
        case _:
            assert (ROOT / words[1]).is_file() or words[1] in ("-m", "tutorial.py"), words


def _extras(word: str) -> Iterator[str]:
    """`'headway[fleet]'` needs one."""
    if "[" in word:
        yield from word.partition("[")[2].strip("]'\"").split(",")


def parsed(words: list[str]) -> bool:
    """Read as the command would read them, and not run."""
    _add_plugins(words)
    command: Any = get_command(app)
    if words == ["--version"]:
        return True
    while hasattr(command, "commands"):
        name, words = words[0], words[1:]
        assert name in command.commands, f"there is no command {name!r}"
        command = command.commands[name]
    command.make_context(command.name, ["1" if word == "..." else word for word in words])
    return True


def test_an_option_that_there_is_not_would_be_found() -> None:
    with pytest.raises(typer.TyperException, match="No such option"):
        parsed(["run", "file.py", "--colour", "blue"])
