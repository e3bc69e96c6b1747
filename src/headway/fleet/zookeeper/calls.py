"""Reads and commits through a kazoo client: each bounded, each answer a value of ours or one of our errors."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

from headway.errors import HeadwayError
from headway.fleet.session import (
    CheckNode,
    Committed,
    DropNode,
    MakeNode,
    Rejected,
    SessionOver,
    SetNode,
    TreeNode,
    TreeStep,
    Unheard,
)

LEAST_CALL_S = 0.5
MAX_BYTES = 900_000  # of a commit: ZooKeeper hangs up on a client that sends a megabyte, and would again
Why = Literal["version", "missing", "exists", "children"]
WHYS: dict[str, Why] = {
    "BadVersionError": "version",
    "NoNodeError": "missing",
    "NodeExistsError": "exists",
    "NotEmptyError": "children",
}
BESIDE = {"RolledBackError", "RuntimeInconsistency"}  # of the steps that another one has brought down


class KazooCalls(ABC):
    """What is asked of a client, for a session that knows its state."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._call_s, self._session_id = LEAST_CALL_S, 0

    @abstractmethod
    def check(self) -> None:
        """Raise `Unheard` unless we are connected: kazoo would keep what we ask, and do it when nothing waits for it any
        more."""

    @abstractmethod
    def changed(self, path: str) -> None:
        """A watched node has; on a thread of the client."""

    def read(self, path: str, *, watch: bool = False) -> TreeNode | None:
        return self._node(self._read_async(path, watch))

    def read_all(self, paths: Sequence[str]) -> list[TreeNode | None]:
        asked = [self._read_async(path) for path in paths]
        return [self._node(one) for one in asked]

    def children(self, path: str, *, watch: bool = False) -> tuple[str, ...]:
        from kazoo.exceptions import NoNodeError

        self.check()
        try:
            asked = self._client.get_children_async(path, watch=self._watched if watch else None)
            return tuple(sorted(self._answer(asked)))
        except NoNodeError:
            return ()

    def commit(self, *steps: TreeStep) -> Committed | Rejected:
        self.check()
        transaction = self._client.transaction()
        for step in steps:
            _add(transaction, step)
        size = sum(len(step.text.encode()) for step in steps if isinstance(step, MakeNode | SetNode))
        if size > MAX_BYTES:
            what = f"{steps[0].path} and what is written with it"
            raise HeadwayError(f"{what} has {size:,} bytes: ZooKeeper takes {MAX_BYTES:,}")
        return _committed(steps, self._answer(transaction.commit_async()))

    def ensure(self, path: str) -> None:
        self.check()
        self._answer(self._client.ensure_path_async(path))

    def sync(self) -> None:
        """A sign of life that the leader of the ensemble itself answers; to kazoo's pings, any server does."""
        self.check()
        self._answer(self._client.sync_async("/"))

    def _answer(self, asked: Any) -> Any:
        from kazoo import exceptions as kazoo
        from kazoo.handlers.threading import KazooTimeoutError

        try:
            return asked.get(timeout=self._call_s)
        except kazoo.SessionExpiredError as error:
            self.check()  # over, as we know by now, or in a moment
            raise SessionOver("the session with ZooKeeper is over") from error
        except (kazoo.ConnectionLoss, kazoo.OperationTimeoutError, kazoo.SessionMovedError, KazooTimeoutError) as error:
            self.check()
            raise Unheard(f"no answer from ZooKeeper: {type(error).__name__}") from error
        except (kazoo.NoAuthError, kazoo.AuthFailedError) as error:
            raise _refused(error) from None

    def _read_async(self, path: str, watch: bool = False) -> Any:
        self.check()
        return self._client.get_async(path, watch=self._watched if watch else None)

    def _node(self, asked: Any) -> TreeNode | None:
        from kazoo.exceptions import NoNodeError

        try:
            text, stat = self._answer(asked)
        except NoNodeError:
            return None
        return TreeNode(text.decode(), stat.version, stat.ephemeralOwner == self._session_id)

    def _watched(self, event: Any) -> None:
        if event.path is not None:  # of a break the session hears otherwise
            self.changed(event.path)


def _add(transaction: Any, step: TreeStep) -> None:
    match step:
        case MakeNode(path, text, life):
            transaction.create(path, text.encode(), ephemeral=life != "lasting", sequence=life == "line")
        case SetNode(path, text, version):
            transaction.set_data(path, text.encode(), version)
        case DropNode(path, version):
            transaction.delete(path, version)
        case CheckNode(path, version):
            transaction.check(path, version)


def _committed(steps: Sequence[TreeStep], results: Sequence[Any]) -> Committed | Rejected:
    pairs = list(zip(steps, results, strict=True))
    failed = [(step, result) for step, result in pairs if isinstance(result, Exception)]
    for step, error in failed:
        if (why := WHYS.get(type(error).__name__)) is not None:
            return Rejected(step, why)
        if type(error).__name__ not in BESIDE:
            raise _refused(error)
    if failed:
        raise _refused(failed[0][1])
    return Committed(
        tuple(result if isinstance(step, MakeNode) else step.path for step, result in pairs),
        tuple(_version(step, result) for step, result in pairs),
    )


def _version(step: TreeStep, result: Any) -> int:
    match step:
        case MakeNode():
            return 0
        case SetNode():
            return int(result.version)
        case DropNode() | CheckNode():
            return step.version


def _refused(error: Exception) -> HeadwayError:
    return HeadwayError(f"ZooKeeper refuses what was asked: {type(error).__name__}: is it the right secret and path?")
