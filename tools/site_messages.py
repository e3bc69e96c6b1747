"""The page with every message of an error that a user can fix, read off the code, so that none is missing."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import site_ways

SRC = Path(__file__).parents[1] / "src" / "headway"
ROOMS = {
    "spark": "In a job", "model": "Settings", "policy": "Policies", "loop": "Journals and decisions", "cli": "Commands",
    "fleet": "The fleet", "kafka": "Kafka", "lease": "Leases", "pipeline": "Pipeline files",
}  # fmt: skip
HEAD = """# What went wrong?

What you can fix is told in one line, with exit code 2 on the command line: it names the setting, what it is, and the
way out; where the line itself does not, it stands behind it here. These are all of them; `…` stands for what differs.
By what you see instead: [troubleshooting](../howto/troubleshooting.md). A bug keeps its traceback, and a query that dies has
Spark's own error (exit code 1).
"""


def page() -> str:
    found, parts = messages(), [HEAD]
    for title in [*ROOMS.values(), "Elsewhere"]:
        if told := found.pop(title, set()):
            parts += [f"## {title}\n", *map(_item, sorted(told)), ""]
    return "\n".join(parts)


def messages() -> dict[str, set[str]]:
    """By the part of the house that they come from."""
    found: dict[str, set[str]] = {}
    for path in sorted(SRC.rglob("*.py")):
        room = path.relative_to(SRC).with_suffix("").parts[0]
        found.setdefault(ROOMS.get(room, "Elsewhere"), set()).update(_messages(ast.parse(path.read_text("utf-8"))))
    return found


def _item(message: str) -> str:
    way = site_ways.way_out(message)
    return f"- `{message}`" + (f" - *{way}*" if way else "")


def _messages(tree: ast.Module) -> Iterator[str]:
    everywhere = _texts(tree.body)
    for scope in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        known = everywhere | _texts(list(ast.walk(scope)))
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield from _said(node.func.id, [_text(arg, known) for arg in node.args])


def _said(error: str, arguments: list[str]) -> Iterator[str]:
    if error == "SettingError" and len(arguments) == 3 and arguments[2].strip("… "):
        yield _line(f"{arguments[0]} = …: expected {arguments[2]}")
    elif error in ("HeadwayError", "QueryFailed") and arguments and arguments[0].strip("… "):
        yield _line(arguments[0])


def _texts(nodes: Sequence[ast.AST]) -> dict[str, str]:
    """Names that stand for a text: of several, the last."""
    named = [node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)]
    return {node.targets[0].id: text for node in named if (text := _text(node.value, {})).strip("… ")}  # type: ignore[attr-defined]


def _text(node: ast.expr, known: Mapping[str, str]) -> str:
    """A string as it will be read, with … for what is put in."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, known) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left, known) + _text(right, known)
        case ast.Name(id=name):
            return known.get(name, "…")
    return "…"


def _line(text: str) -> str:
    return " ".join(text.replace("`", "'").split())
