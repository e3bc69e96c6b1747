"""A node asks the others for checkpoints that it cannot see, and copies them from their disks."""

import ssl
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from headway.errors import HeadwayError
from headway.fleet.client import NodeClient
from headway.fleet.node.checkpoints import CheckpointPromise, CheckpointTold
from headway.fleet.node.wire import NodeCommand
from headway.transfer.digests import DigestCache, names_in
from headway.transfer.folder_pull import FolderPull
from headway.transfer.link import RetryLimit, SiteLink
from headway.transfer.wire import TransferReport

AT_ONCE = 16  # nodes that are asked side by side
WHILE_SERVING, WHILE_OUT = RetryLimit(5, 0.5), RetryLimit(3, 0.2)
SNAPSHOTS = (".snapshot", ".zip")  # files by whose names the other side knows what changes will do


class PeerCheckpoints:
    """Speaks to the doors of other nodes. Several threads may."""

    def __init__(self, addresses: Callable[[], Mapping[str, str]], token: str, ca: Path | None = None) -> None:
        """`addresses` are those of the other nodes, by their names."""
        self._addresses, self._token, self._ca = addresses, token, ca
        self._clients: dict[str, NodeClient] = {}
        self._digests = DigestCache()

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def told(self, place: str, maker: str | None = None, mark: str | None = None) -> dict[str, CheckpointTold]:
        """What others say of a folder, by their URLs. The node that is named in its mark is asked first, and no other one if
        that has made it, or has the same."""
        addresses = dict(self._addresses())
        if maker in addresses:
            url = addresses.pop(maker)
            said = self._ask(url, place)
            if said is not None and (said.hosted or (said.there and said.mark == mark)):
                return {url: said}
        with ThreadPoolExecutor(AT_ONCE) as workers:
            answers = workers.map(lambda url: (url, self._ask(url, place)), addresses.values())
            return {url: said for url, said in answers if said is not None}

    def told_by(self, url: str, place: str) -> CheckpointTold:
        """Raises a HeadwayError if it does not answer."""
        return self._client(url).checkpoint(place)

    def pull(self, url: str, place: str, into: Path, serving: bool) -> TransferReport:
        """Make `into` the least that a query goes on from. What is there stays; `serving`: there is time for it."""
        trusted = None if self._ca is None else ssl.create_default_context(cafile=str(self._ca))
        limit = WHILE_SERVING if serving else WHILE_OUT

        def have() -> list[str]:
            return [name for name in names_in(into) if name.endswith(SNAPSHOTS)]

        try:
            with SiteLink(url, self._token, limit, trusted=trusted) as link:
                return FolderPull(link, place, into, None, self._digests, have).run()
        except HeadwayError as error:
            raise HeadwayError(
                f"checkpoint = {place!r}: it is on another node's disk, and cannot be copied: {error}"
            ) from None

    def promise(self, url: str, asked: CheckpointPromise) -> None:
        """Raises a HeadwayError if that node will not, or does not answer."""
        self._client(url).promise(asked)

    def clean(self, url: str, place: str, command: NodeCommand) -> bool:
        """Have the node delete it, as we were told to. Whether that is done."""
        name = f"{command.request}-{place}"
        return self._client(url).send(NodeCommand(name, "clean", command.query, command.epoch, origins=(place,))).done

    def _ask(self, url: str, place: str) -> CheckpointTold | None:
        try:
            return self.told_by(url, place)
        except HeadwayError:  # it may be gone, or older than this question
            return None

    def _client(self, url: str) -> NodeClient:
        if url not in self._clients:
            self._clients[url] = NodeClient(url, self._token, ca=self._ca, attempts=1)
        return self._clients[url]
