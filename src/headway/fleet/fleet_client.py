"""Talks to the orchestrators of a fleet, for the command line: whichever of them is the primary."""

import ssl
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from headway.errors import HeadwayError
from headway.fleet.client import why_not
from headway.fleet.node.text import read, written
from headway.fleet.orchestrator.wire import AskReceipt, FleetStanding, MoveProgress

if TYPE_CHECKING:
    import httpx

CONNECT_S, ANSWER_S = 2.0, 30.0
PATIENCE_S = 20.0  # for there to be a primary: after its death another one is elected within seconds
PAUSE_S = 0.3
NOT_PRIMARY = 421
T = TypeVar("T")


class NoPrimary(HeadwayError):
    """None of the orchestrators that we know could be asked."""


class FleetClient:
    """Asks one after the other, until one of them is the primary. Asking twice with one id is asking once."""

    def __init__(
        self,
        addresses: Sequence[str],
        token: str,
        *,
        ca: Path | None = None,
        patience_s: float = PATIENCE_S,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        import httpx

        self._addresses, self._patience_s, self._pause = list(addresses), patience_s, pause
        verify = True if ca is None else ssl.create_default_context(cafile=str(ca))
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(
            headers=headers, trust_env=False, verify=verify, timeout=httpx.Timeout(ANSWER_S, connect=CONNECT_S)
        )

    def ask(self, action: str, wanted: Any) -> AskReceipt:
        """Raises NoPrimary, or a HeadwayError with the one line of a refusal."""
        return self._read(AskReceipt, "POST", f"/v1/{action}", written(wanted).encode())

    def progress(self, query: str, move: str) -> MoveProgress:
        return self._read(MoveProgress, "GET", f"/v1/moves/{quote(move, safe='')}/{quote(query, safe='')}")

    def standing(self) -> FleetStanding:
        """As the primary sees it; if there is none, as any of them does."""
        found: FleetStanding | None = None
        why = ""
        for address in self._addresses:
            try:
                answer = self._http.get(f"{address}/v1/status")
            except self._unheard as error:
                why = f"{address}: {type(error).__name__}"
                continue
            told = read(FleetStanding, self._checked(address, answer))
            if told.primary:
                return told
            found = found or told
        if found is None:
            raise NoPrimary(f"no orchestrator answers ({why or 'none is known'}): `headway fleet up` starts a fleet")
        return found

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> "FleetClient":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def _unheard(self) -> type[Exception]:
        import httpx

        return httpx.TransportError

    def _read(self, kind: type[T], method: str, path: str, body: bytes | None = None) -> T:
        end, why = time.monotonic() + self._patience_s, "none is known"
        while True:
            for address in list(self._addresses):
                try:
                    answer = self._http.request(method, f"{address}{path}", content=body)
                except self._unheard as error:
                    why = f"{address}: {type(error).__name__}"
                    continue
                if answer.status_code == NOT_PRIMARY:
                    why = why_not(answer)
                    continue
                self._addresses.sort(key=lambda one: one != address)  # it is asked first from now on
                return read(kind, self._checked(address, answer))
            if time.monotonic() >= end:
                raise NoPrimary(f"no orchestrator is the primary ({why})")
            self._pause(PAUSE_S)

    def _checked(self, address: str, answer: "httpx.Response") -> bytes:
        if answer.status_code != 200:
            raise HeadwayError(f"{address} answers {answer.status_code}: {why_not(answer)}")
        return answer.content
