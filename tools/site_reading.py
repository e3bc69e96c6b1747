"""Every text that the code can tell a user, read off its syntax: errors by the tree of their classes, and what is aloud.

A class or a function that is handed a text and tells it is a `Teller`: whoever calls it says what is told. So `refuse("x")`
counts, and `StepFailed(...)`, whose line is its first argument, and `SettingError(key, got, want)`, which joins three.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT_ERROR, ALOUD, ONCE = "HeadwayError", "aloud", "_told_once"  # the last: what a `ToldOnce` is kept as
GAP = "…"
_HOLE = re.compile("\0(\\w+)\0")

Texts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Teller:
    """What is told when it is called: texts with holes that are named after its parameters."""

    parameters: tuple[str, ...]
    texts: Texts

    def told(self, given: Mapping[str, Texts]) -> Iterator[str]:
        for text in self.texts:
            filled = [text]
            for name in dict.fromkeys(_HOLE.findall(text)):
                filled = [one.replace(f"\0{name}\0", put) for one in filled for put in given.get(name, (GAP,))]
            yield from filled


@dataclass(frozen=True, slots=True)
class ToldText:
    """A text, whether it is told beside what goes on, and whether it says anything of its own."""

    text: str
    aloud: bool

    @property
    def vague(self) -> bool:
        bare = self.text.replace(GAP, "").strip()
        return not re.search(r"[a-z]{2}", bare) or bare.endswith(": expected")


def told_in(folder: Path) -> dict[Path, set[ToldText]]:
    """By file, without what is somebody else's word all through."""
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(folder.rglob("*.py"))}
    classes = error_classes(trees.values())
    return {path: {one for one in _Reader(tree, classes).told() if not one.vague} for path, tree in trees.items()}


def error_classes(trees: Iterable[ast.Module]) -> dict[str, Teller]:
    """What descends from our error, by name; one without an `__init__` of its own tells as the one that it descends from."""
    found = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    tellers = {ROOT_ERROR: Teller(("text",), ("\0text\0",))}
    while new := [c for c in found if c.name not in tellers and _parent(c) in tellers]:
        for of in new:
            tellers[of.name] = _own(of) or tellers[_parent(of)]
    return tellers


def _parent(of: ast.ClassDef) -> str:
    return of.bases[0].id if of.bases and isinstance(of.bases[0], ast.Name) else ""


def _own(of: ast.ClassDef) -> Teller | None:
    for made in (node for node in of.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"):
        for call in (node for node in ast.walk(made) if isinstance(node, ast.Call)):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__" and call.args:
                names = tuple(one.arg for one in made.args.args[1:])
                return Teller(names, texts(call.args[0], {name: (f"\0{name}\0",) for name in names}))
    return None


class _Reader:
    """One module."""

    def __init__(self, tree: ast.Module, classes: Mapping[str, Teller]) -> None:
        self.tree, self.classes = tree, classes
        self.tellers: dict[str, tuple[Teller, bool]] = {name: (of, False) for name, of in classes.items()}
        self.tellers[ALOUD] = (Teller(("text",), ("\0text\0",)), True)
        self.tellers[ONCE] = self.tellers[ALOUD]
        self.module = _assigned(tree.body)

    def told(self) -> set[ToldText]:
        """Twice, or as often as there are functions that hand a text on to a function that hands it on."""
        before, found = -1, set[ToldText]()
        while before != len(self.tellers):
            before, found = len(self.tellers), set()
            for scope, calls in _scopes(self.tree):
                found.update(self._of(scope, calls))
        return found

    def _of(self, scope: ast.FunctionDef | ast.AsyncFunctionDef | None, calls: list[ast.Call]) -> Iterator[ToldText]:
        names = [] if scope is None else [one.arg for one in [*scope.args.args, *scope.args.kwonlyargs] if one.arg != "self"]
        known = self.module if scope is None else self.module | _assigned(list(ast.walk(scope)))
        known = known | {name: (f"\0{name}\0",) for name in names}
        for call in calls:
            name = _called(call)
            if name not in self.tellers or (scope is not None and scope.name == name):
                continue
            teller, loud = self.tellers[name]
            for text in teller.told(_arguments(teller, call, known, name)):
                plain = ToldText(" ".join(_HOLE.sub(GAP, text).replace("`", "'").split()), loud)
                if plain.vague and _HOLE.search(text) and scope is not None:
                    self._hands_on(scope.name, tuple(names), text, loud)
                yield plain

    def _hands_on(self, name: str, parameters: tuple[str, ...], text: str, loud: bool) -> None:
        before = self.tellers[name][0].texts if name in self.tellers and name not in self.classes else ()
        if name != "__init__" and text not in before:
            self.tellers[name] = (Teller(parameters, (*before, text)), loud)


def _scopes(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef | None, list[ast.Call]]]:
    """Each function with the calls that are its own, and not those of a function within."""

    def walk(node: ast.AST, scope: ast.FunctionDef | ast.AsyncFunctionDef | None) -> None:
        for child in ast.iter_child_nodes(node):
            inner = child if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else scope
            if isinstance(child, ast.Call):
                found.setdefault(scope, []).append(child)
            walk(child, inner)

    found: dict[ast.FunctionDef | ast.AsyncFunctionDef | None, list[ast.Call]] = {}
    walk(tree, None)
    yield from found.items()


def _called(call: ast.Call) -> str:
    """`refuse(...)` and `self.refuse(...)`."""
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
    return ""


def _arguments(teller: Teller, call: ast.Call, known: Mapping[str, Texts], name: str) -> dict[str, Texts]:
    given = dict(zip(teller.parameters, (texts(one, known) for one in call.args), strict=False))
    given |= {one.arg: texts(one.value, known) for one in call.keywords if one.arg}
    if name == "SettingError":
        given["got"] = (GAP,)  # what the user gave
    return given


def _assigned(nodes: Sequence[ast.AST]) -> dict[str, Texts]:
    """Names that stand for a text, or for one of several."""
    found: dict[str, Texts] = {}
    for node in nodes:
        target = (
            node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
        )
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(target, ast.Name) and value is not None:
            said = tuple(text for text in texts(value, {}) if re.search(r"\w", text))
            if said:
                found[target.id] = tuple(dict.fromkeys((*found.get(target.id, ()), *said)))
    return found


def texts(node: ast.expr, known: Mapping[str, Texts]) -> Texts:
    """What a text may be, with a gap for what is put in."""
    match node:
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.JoinedStr(values=parts):
            return ("".join(_one(part, known) for part in parts),)
        case ast.FormattedValue(value=value):
            return texts(value, known)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return tuple(a + b for a in texts(left, known) for b in texts(right, known))
        case ast.IfExp(body=one, orelse=other):
            return (*texts(one, known), *texts(other, known))
        case ast.Name(id=name):
            return known.get(name, (GAP,))
        # " ".join(line.split()) and str(line) are the line.
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=" "), attr="join"), args=[ast.Call(func=ast.Attribute(value=of))]
        ):
            return texts(of, known)
        case ast.Call(func=ast.Name(id="str"), args=[of]):
            return texts(of, known)
    return (GAP,)


def _one(part: ast.expr, known: Mapping[str, Texts]) -> str:
    """Within a text: a gap where it may be one of several."""
    found = texts(part, known)
    return found[0] if len(found) == 1 else GAP
