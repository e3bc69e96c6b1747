"""Pipeline files: functions marked with `@headway.query` that `headway run FILE.py` finds and starts."""

import ast
import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, SettingError

Builder = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Query:
    """A named function of (runtime, spark) that returns a DataStreamWriter, ready to start."""

    name: str
    build: Builder
    settings: dict[str, Any]


_FOUND: list[Query] = []


def query(name: str | None = None, **settings: Any) -> Callable[[Builder], Builder]:
    """Mark a function as a query of this pipeline; `settings` go to `Runtime.start`."""

    def mark(build: Builder) -> Builder:
        _FOUND.append(Query(name or build.__name__, build, settings))
        return build

    return mark


def check(path: Path) -> None:
    """Refuse what is no Python file, without running it."""
    if not path.is_file():
        raise HeadwayError(f"pipeline = {str(path)!r}: expected a Python file")
    try:
        compile(path.read_bytes(), str(path), "exec")
    except SyntaxError as error:
        raise HeadwayError(f"pipeline = {str(path)!r}: line {error.lineno} is not Python: {error.msg}") from None
    except ValueError:  # null bytes: some other kind of file
        raise HeadwayError(f"pipeline = {str(path)!r}: expected a Python file") from None


def load(path: Path) -> list[Query]:
    """The queries that a pipeline file declares. It may make UDFs as it is read, so Spark should be running."""
    check(path)
    _FOUND.clear()
    # A name of our own: a file called json.py must not stand in for the standard module.
    name = f"headway_pipeline_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise HeadwayError(f"pipeline = {str(path)!r}: expected a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    names = [q.name for q in _FOUND]
    if not names:
        raise HeadwayError(f"pipeline = {str(path)!r}: expected at least one function marked with @headway.query")
    if twice := {n for n in names if names.count(n) > 1}:
        raise HeadwayError(f"pipeline = {str(path)!r}: query name {twice.pop()!r} is used twice")
    return list(_FOUND)


def declared(path: Path) -> list[str]:
    """The names of a file's queries as they stand there, without running it: Spark need not be there to know them."""
    check(path)
    names = [name for node in ast.parse(path.read_bytes()).body for name in _names(node, path)]
    if not names:
        raise HeadwayError(f"pipeline = {str(path)!r}: expected at least one function marked with @headway.query")
    if twice := {n for n in names if names.count(n) > 1}:
        raise HeadwayError(f"pipeline = {str(path)!r}: query name {twice.pop()!r} is used twice")
    return names


def _names(node: ast.stmt, path: Path) -> Iterator[str]:
    if not isinstance(node, ast.FunctionDef):
        return
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func).rpartition(".")[2] == "query":
            arguments = [*mark.args[:1], *(word.value for word in mark.keywords if word.arg == "name")]
            if not arguments or (isinstance(arguments[0], ast.Constant) and arguments[0].value is None):
                yield node.name
            elif isinstance(arguments[0], ast.Constant) and isinstance(arguments[0].value, str):
                yield arguments[0].value
            else:
                want = "a name written out in the file, or --query NAME for each query"
                raise SettingError(f"{path}, line {mark.lineno}: name", ast.unparse(arguments[0]), want)
