"""A site agent's server: the folder of a site, for callers that know the token."""

import functools
import socket
import socketserver
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from headway.errors import SettingError, aloud
from headway.transfer.door import SiteRequest
from headway.transfer.site import SiteFolder

LAST_S = 10.0  # for requests to notice that they are cut


class FolderServer:
    """Serves what lies below `root`, on a thread of its own."""

    def __init__(self, root: Path, host: str, port: int, token: str, say: Callable[[str], None] = aloud) -> None:
        if not root.is_dir():
            raise SettingError("root", str(root), "a folder")
        if not token.isascii() or token.split() != [token]:
            raise SettingError("token", f"{len(token)} letters", "one word of ASCII letters")
        self.root = root.resolve()
        self._site = SiteFolder(self.root, token)
        try:
            self._listener = SiteListener(host, port, functools.partial(SiteRequest, self._site, say))
        except (OSError, OverflowError) as error:
            raise SettingError("port", f"{host}:{port}", f"an address that is free: {error}") from None
        named = f"[{host}]" if ":" in host else host
        self.address = f"http://{named}:{self._listener.server_address[1]}"
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.05,), name="headway-site", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Cuts off the callers that are being served: an agent that has stopped neither sends nor writes a byte more."""
        self._site.stop()
        if self._thread.ident is not None:
            self._listener.shutdown()
            self._thread.join(LAST_S)
        self._listener.server_close()
        self._listener.cut_all(LAST_S)


class SiteListener(ThreadingHTTPServer):
    """Knows its open connections. Python's would go on to answer on those that are kept, though it is closed."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, host: str, port: int, requests: Callable[..., SiteRequest]) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._open: set[Any] = set()
        self._changed = threading.Condition()
        super().__init__((host, port), requests)

    def server_bind(self) -> None:
        """Without asking for the name of this address: where there is no name server, that takes long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._changed:
            self._open.add(request)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._changed:
                self._open.discard(request)
                self._changed.notify_all()

    def cut_all(self, seconds: float) -> None:
        """And waits until no caller is served."""
        with self._changed:
            for request in self._open:
                with suppress(OSError):  # closed meanwhile
                    request.shutdown(socket.SHUT_RDWR)
            self._changed.wait_for(lambda: not self._open, seconds)
