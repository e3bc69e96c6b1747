"""The sites that a controller directs: where their nodes, agents and brokers are, and how the nodes stand."""

import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.fleet.client import NodeClient, NodeRefused
from headway.fleet.node.wire import Action, CommandReceipt, HostedQuery, NodeCommand, NodeStatus

EVERY_S = 1.0
SILENT_S = 10.0  # after which a node is taken for one that is not there
CLOSE_S = 10.0


class StepFailed(HeadwayError):
    """A step of a change was not done; `certain` if the node that was to do it has said so itself."""

    def __init__(self, line: str, certain: bool = False) -> None:
        self.certain = certain
        super().__init__(line)


@dataclass(frozen=True, slots=True)
class SiteAddress:
    """A site, and what is there."""

    name: str
    node: str  # http://HOST:PORT
    agent: str  # the same of the site agent
    broker: str  # HOST:PORT
    folder: str  # that the agent serves: checkpoints of the site are below it
    slots: int = 2

    def checkpoint(self, piece: str, epoch: int) -> str:
        return str(Path(self.folder, "checkpoints", piece, str(epoch)))

    def relative(self, folder: str) -> str:
        """As the agent names it."""
        return str(Path(folder).relative_to(self.folder))


@dataclass(frozen=True, slots=True)
class StatusHeardAt:
    """How a node stood, and when that came, by the clock of `time.monotonic`."""

    status: NodeStatus
    at: float

    def query(self, name: str) -> HostedQuery | None:
        return next((query for query in self.status.queries if query.name == name), None)


class SiteNodes:
    """The nodes of all sites: each is asked how it stands by a thread of its own, so one that hangs holds up no other."""

    def __init__(self, sites: Sequence[SiteAddress], token: str) -> None:
        self._clients = {site.name: NodeClient(site.node, token, attempts=1) for site in sites}
        self._heard: dict[str, StatusHeardAt] = {}
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._watch, args=(s.name, NodeClient(s.node, token, attempts=1)), daemon=True)
            for s in sites
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._over.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(CLOSE_S)
        for client in self._clients.values():
            client.close()

    def heard(self, site: str) -> StatusHeardAt | None:
        """The newest; None if there is none, or it is old."""
        found = self._heard.get(site)
        return found if found is not None and time.monotonic() - found.at < SILENT_S else None

    @property
    def silent(self) -> frozenset[str]:
        """Sites whose nodes do not answer."""
        return frozenset(site for site in self._clients if self.heard(site) is None)

    def query(self, site: str, name: str) -> HostedQuery | None:
        found = self.heard(site)
        return None if found is None else found.query(name)

    def ask(self, site: str, action: Action, query: str, epoch: int, **more: Any) -> CommandReceipt | None:
        """What came of a command; None if the node knows no such query. Raises StepFailed if no node answers."""
        request = f"{query}-{epoch}-{action}-{secrets.token_hex(6)}"
        try:
            return self._clients[site].send(NodeCommand(request, action, query, epoch, **more))
        except NodeRefused as error:
            if error.code == 404:
                return None
            raise StepFailed(f"{action} of {query} at {site}: {error}") from None
        except HeadwayError as error:
            raise StepFailed(f"{action} of {query} at {site}: {error}") from None

    def did(self, site: str, action: Action, query: str, epoch: int, **more: Any) -> CommandReceipt:
        """The same, and it must have been done."""
        receipt = self.ask(site, action, query, epoch, **more)
        if receipt is None or not receipt.done:
            why = "it does not know this query" if receipt is None else receipt.because
            raise StepFailed(f"{action} of {query} at {site}: {why}", certain=True)
        return receipt

    def _watch(self, site: str, client: NodeClient) -> None:
        with client:
            while not self._over.wait(EVERY_S):
                try:
                    self._heard[site] = StatusHeardAt(client.status(), time.monotonic())
                except HeadwayError:  # it is down, or not up yet: its silence says so
                    continue


def by_name(sites: Sequence[SiteAddress]) -> Mapping[str, SiteAddress]:
    return {site.name: site for site in sites}
