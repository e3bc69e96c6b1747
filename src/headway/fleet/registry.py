"""The nodes that are there: each has written itself down, for as long as its session lives."""

from dataclasses import dataclass

from headway.errors import SettingError
from headway.fleet.records import Shelf, dumps, key_of, loads, node_name
from headway.fleet.session import Committed, DropNode, MakeNode, Session, SetNode


@dataclass(frozen=True, slots=True)
class NodeRegistration:
    """A node of the fleet, as others find it."""

    name: str
    address: str  # host:port of its HTTP
    protocol: int = 1  # of what is said to it
    cores: int = 1


NODES = Shelf("nodes", NodeRegistration)


class Registry:
    """The nodes of a fleet, by name."""

    def __init__(self, session: Session, root: str) -> None:
        self._session, self._folder = session, f"{root}/nodes"

    def enter(self, node: NodeRegistration) -> None:
        """Write it down, until our session is over or it leaves. Twice is once, and the second may say something else.

        Raises a SettingError if another process has that name: also if it was this node until it was killed, a moment ago.
        """
        path = self._path(node.name)
        self._session.ensure(self._folder)
        text, there = dumps(NODES, node), self._session.read(path)
        if there is None:
            done = self._session.commit(MakeNode(path, text, "session"))
        elif there.own:
            done = self._session.commit(SetNode(path, text, there.version))
        else:
            other = loads(NODES, there.text, path)[0]
            raise SettingError("node", node.name, f"a name that no running node has; the one on {other.address} has it")
        if not isinstance(done, Committed):
            raise SettingError("node", node.name, f"a name that no running node has: {done.because}")

    def leave(self, name: str) -> None:
        there = self._session.read(self._path(name))
        if there is not None and there.own:
            self._session.commit(DropNode(self._path(name), there.version))

    def present(self, *, watch: bool = False) -> dict[str, NodeRegistration]:
        """All that are there. A watch tells once when one comes or goes."""
        names = self._session.children(self._folder, watch=watch)
        paths = [f"{self._folder}/{name}" for name in names]
        found = zip(names, paths, self._session.read_all(paths), strict=True)
        return {key_of(name): loads(NODES, node.text, path)[0] for name, path, node in found if node is not None}

    def _path(self, name: str) -> str:
        return f"{self._folder}/{node_name(name)}"
