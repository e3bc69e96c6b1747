"""Nodes by path, with versions and owners, and commits that do all of their steps or none. In memory; knows no session."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headway.fleet.session import CheckNode, Committed, DropNode, MakeNode, Rejected, SetNode, TreeStep


@dataclass(slots=True)
class MemoryNode:
    """A node of the tree."""

    text: str
    version: int = 0
    owner: str | None = None
    made: int = 0  # so many have been made below it, in a line


class NodeTable:
    """The nodes, and the names below each."""

    def __init__(self) -> None:
        self._nodes: dict[str, MemoryNode] = {"": MemoryNode("")}
        self._below: dict[str, set[str]] = {}

    def node(self, path: str) -> MemoryNode | None:
        return self._nodes.get(path)

    def children(self, path: str) -> tuple[str, ...]:
        return tuple(sorted(self._below.get(path, ())))

    def remove_all_of(self, owner: str) -> set[str]:
        """The paths of what has lived by this owner."""
        gone = {path for path, node in self._nodes.items() if node.owner == owner}
        for path in gone:
            self._remove(path)
        return gone

    def commit(self, owner: str, steps: Sequence[TreeStep]) -> Committed | Rejected:
        undo: list[Callable[[], None]] = []
        done: list[tuple[str, int]] = []
        for step in steps:
            one = self._do(owner, step, undo)
            if isinstance(one, Rejected):
                for back in reversed(undo):
                    back()
                return one
            done.append(one)
        return Committed(tuple(path for path, _ in done), tuple(version for _, version in done))

    def _do(self, owner: str, step: TreeStep, undo: list[Callable[[], None]]) -> tuple[str, int] | Rejected:
        if isinstance(step, MakeNode):
            return self._make(owner, step, undo)
        node = self._nodes.get(step.path)
        if node is None:
            return Rejected(step, "missing")
        if node.version != step.version:
            return Rejected(step, "version")
        if isinstance(step, DropNode) and self._below.get(step.path):
            return Rejected(step, "children")
        match step:
            case SetNode(text=text):
                undo.append(_back_to(node, node.text, node.version))
                node.text, node.version = text, node.version + 1
            case DropNode(path=path):
                undo.append(lambda: self._add(path, node))
                self._remove(path)
            case CheckNode():
                pass
        return step.path, node.version

    def _make(self, owner: str, step: MakeNode, undo: list[Callable[[], None]]) -> tuple[str, int] | Rejected:
        parent, path = self._nodes.get(step.path.rpartition("/")[0]), step.path
        if parent is None:
            return Rejected(step, "missing")
        if step.life == "line":
            path = f"{path}{parent.made:010d}"
            parent.made += 1  # not undone: a number is given out once
        if path in self._nodes:
            return Rejected(step, "exists")
        self._add(path, MemoryNode(step.text, owner=None if step.life == "lasting" else owner))
        undo.append(lambda: self._remove(path))
        return path, 0

    def _add(self, path: str, node: MemoryNode) -> None:
        self._nodes[path] = node
        above, _, name = path.rpartition("/")
        self._below.setdefault(above, set()).add(name)

    def _remove(self, path: str) -> None:
        del self._nodes[path]
        above, _, name = path.rpartition("/")
        self._below[above].discard(name)


def _back_to(node: MemoryNode, text: str, version: int) -> Callable[[], None]:
    def back() -> None:
        node.text, node.version = text, version

    return back
