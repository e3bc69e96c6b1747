"""Tests of the tests: none can pass without having looked at something.

A check counts where it runs for certain: at the top, in every branch of an `if`, in a loop over what cannot be empty.
`all(...)` of something that may be empty is none.
"""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("test_*.py"))
# What fails by itself if it is not as said, with what it is for where that is not plain.
CHECKERS = {
    "raises",
    "checked",  # refuses a policy that lacks something
    "fail",
    "wait_until",  # waits in vain otherwise
    "until",  # so does the gate of `test_controller_thread.py`
    "steadily",
    "alike",  # plays a script on Spark and on the model of it, and compares
    "beside_delta",  # looks at what a submitted job has told
}
WRAPPERS = {"enumerate", "zip", "sorted", "reversed", "list", "tuple", "set", "map", "pairwise", "product"}
VIEWS = {"items", "keys", "values"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_of(tree: ast.Module) -> list[Function]:
    found = (node for node in ast.walk(tree) if isinstance(node, Function))
    return [node for node in found if node.name.startswith("test_")]


class Reader:
    """Reads one function, and knows which of its names cannot be empty."""

    def __init__(self, function: Function) -> None:
        self.filled: set[str] = set()
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and self.not_empty(node.value):
                self.filled |= {target.id for target in node.targets if isinstance(target, ast.Name)}

    def looks(self, statements: list[ast.stmt]) -> bool:
        """Whether something has been checked once these have run."""
        return any(map(self._looks, statements))

    def _looks(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.Assert(test=test):
                return self.says_something(test)
            case ast.With(items=items, body=body):
                return any(calls_a_checker(item.context_expr) for item in items) or self.looks(body)
            case ast.For(iter=over, body=body):
                return self.not_empty(over) and self.looks(body)
            case ast.If(body=body, orelse=orelse):
                return self.looks(body) and self.looks(orelse)
            case ast.Match(cases=cases):
                return all(self.looks(case.body) for case in cases)
            case ast.Try(body=body, finalbody=last):
                return self.looks(body) or self.looks(last)
            case ast.Expr(value=value) | ast.Assign(value=value):
                return calls_a_checker(value)
        return False

    def says_something(self, test: ast.expr) -> bool:
        match test:
            case ast.Constant() | ast.Tuple():
                return False
            case ast.BoolOp(op=ast.And(), values=values):
                return any(map(self.says_something, values))
            case ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp() | ast.ListComp() as each]):
                return self.not_empty(each)
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="any"), args=[ast.GeneratorExp() as each])):
                return self.not_empty(each)
        return True

    def not_empty(self, node: ast.expr) -> bool:
        match node:
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                return bool(elements)
            case ast.Dict(keys=keys):
                return bool(keys)
            case ast.Constant(value=value):
                return bool(value)
            case ast.Name(id=name):
                return name.isupper() or name in self.filled
            case ast.Attribute(attr=name):
                return name.isupper()
            case ast.BoolOp(op=ast.Or(), values=values):
                return any(map(self.not_empty, values))
            case ast.ListComp(generators=[one]) | ast.GeneratorExp(generators=[one]) | ast.SetComp(generators=[one]):
                return not one.ifs and self.not_empty(one.iter)
            case ast.Call(func=ast.Name(id="range")):
                return True
            case ast.Call(func=ast.Name(id=name), args=args) if name in WRAPPERS:
                return all(map(self.not_empty, args[1:] if name == "map" else args))
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in VIEWS:
                return self.not_empty(value)
        return False


def calls_a_checker(node: ast.AST) -> bool:
    calls = (part.func for part in ast.walk(node) if isinstance(part, ast.Call))
    return any(ast.unparse(called).split(".")[-1] in CHECKERS for called in calls)


def idle(source: str) -> list[str]:
    return [f"{f.lineno} {f.name}" for f in functions_of(ast.parse(source)) if not Reader(f).looks(f.body)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_test_looks_at_something_for_certain(path: Path) -> None:
    assert not idle(path.read_text())


@pytest.mark.parametrize("path", sorted(TESTS.rglob("*.py")), ids=lambda path: path.stem)
def test_no_error_is_passed_over_in_silence(path: Path) -> None:
    handlers = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ExceptHandler)]
    assert not [h.lineno for h in handlers if all(isinstance(s, ast.Pass | ast.Continue) for s in h.body)]


@pytest.mark.parametrize(
    "body",
    [
        "run()",
        "assert True",
        "assert (found, 'nothing')",
        "for row in rows(): assert row",
        "for row in []: assert row",
        "if found: assert found.right",
        "assert all(row.right for row in rows())",
        "assert not any(row.wrong for row in rows())",
        "def later(): assert 1 == 2",
        "while rows(): assert right()",
    ],
)
def test_one_that_may_see_nothing_is_found_out(body: str) -> None:
    assert idle(f"def test_it():\n    {body}\n") == ["1 test_it"]


@pytest.mark.parametrize(
    "body",
    [
        "assert found",
        "assert rows and all(row.right for row in rows)",
        "for n in range(3): assert n < 3",
        "for name, kind in zip(NAMES, (1, 2)): assert name",
        "with pytest.raises(ValueError): run()",
        "wait_until(lambda: found, 'it')",
        "assert all(n < 3 for n in (1, 2))",
    ],
)
def test_one_that_looks_is_left_alone(body: str) -> None:
    assert idle(f"def test_it():\n    {body}\n") == []
