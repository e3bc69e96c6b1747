"""Talks to a node, for the orchestrator and the command line."""

import json
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from headway.errors import HeadwayError
from headway.fleet.node.checkpoints import CheckpointPromise, CheckpointTold
from headway.fleet.node.text import read, written
from headway.fleet.node.wire import CommandReceipt, NodeCommand, NodeStatus, receipt_in, status_in

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 3
PAUSE_S = 0.2  # before the second attempt; twice that before the third
CONNECT_S = 2.0
STATUS_S = 5.0
WORK_S = 150.0  # for the node's own work, besides the batch that it waits for: Spark may need minutes to start a query


class NodeUnreachable(HeadwayError):
    """No answer has come. Whether the node has done what it was asked for is not known: ask with the same command."""


class NodeRefused(HeadwayError):
    """The node would not listen to this at all."""

    def __init__(self, url: str, code: int, line: str) -> None:
        self.code = code
        super().__init__(f"{url} answers {code}: {line}")


class NodeClient:
    """One node, by its address. Attempts that failed are made again with the id of the same request."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        ca: Path | None = None,
        attempts: int = ATTEMPTS,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """`ca` is the certificate that the node's own is checked against, where that is no public one."""
        import httpx

        self.url, self._attempts, self._pause = url.rstrip("/"), attempts, pause
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if ca is None:
            self._http = httpx.Client(base_url=self.url, headers=headers, trust_env=False)
        else:
            context = ssl.create_default_context(cafile=str(ca))
            self._http = httpx.Client(base_url=self.url, headers=headers, trust_env=False, verify=context)

    def send(self, command: NodeCommand) -> CommandReceipt:
        """What came of it. Raises NodeUnreachable or NodeRefused."""
        path = f"/v1/queries/{quote(command.query, safe='')}/{command.action}"
        return receipt_in(self._asked("POST", path, command.timeout_ms / 1000 + WORK_S, written(command).encode()))

    def status(self) -> NodeStatus:
        return status_in(self._asked("GET", "/v1/status", STATUS_S))

    def health(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self._asked("GET", "/v1/health", STATUS_S))
        return told

    def checkpoint(self, place: str) -> CheckpointTold:
        """What it knows of the folder of a checkpoint."""
        return read(CheckpointTold, self._asked("GET", f"/v1/checkpoint?place={quote(place, safe='')}", STATUS_S))

    def promise(self, asked: CheckpointPromise) -> None:
        """Raises NodeRefused if the checkpoint was promised to another incarnation."""
        self._asked("POST", "/v1/promise", STATUS_S, written(asked).encode())

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> "NodeClient":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _asked(self, method: str, path: str, timeout_s: float, body: bytes | None = None) -> bytes:
        import httpx

        timeout, why = httpx.Timeout(timeout_s, connect=CONNECT_S), ""
        for attempt in range(self._attempts):
            if attempt:
                self._pause(PAUSE_S * 2 ** (attempt - 1))
            try:
                answer = self._http.request(method, path, content=body, timeout=timeout)
            except httpx.TransportError as error:
                why = f"{type(error).__name__}: {error}"
                continue
            if answer.status_code == 200:
                return answer.content
            if answer.status_code < 500:
                raise NodeRefused(self.url, answer.status_code, why_not(answer))
            why = f"{answer.status_code}: {why_not(answer)}"
        raise NodeUnreachable(f"{self.url} gives no answer: {why}")


def why_not(answer: "httpx.Response") -> str:
    """In its own words, or what it says instead."""
    try:
        return str(answer.json()["error"])[:500]
    except (ValueError, KeyError, TypeError):
        return answer.text[:100]
