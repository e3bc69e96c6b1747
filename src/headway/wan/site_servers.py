"""What runs in the sites of a testbed: in each a Kafka broker, a site agent, and a Spark application that is a node.

All of them end with the process that has started them, also if that is killed. It must be in the network of one of the
sites: the machine's own network never sees a site.
"""

import os
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from headway.errors import HeadwayError
from headway.fleet.client import NodeClient
from headway.kafka import broker, topics
from headway.servers import process as servers
from headway.servers.process import ServerProcess
from headway.wan.control.sites import SiteAddress
from headway.wan.held_sites import HeldSites
from headway.wan.testbed import WanTestbed

BROKER_PORT, NODE_PORT, AGENT_PORT = 9092, 7070, 7071  # the same at all sites: each has a network of its own
UP_S = 240.0  # for all Sparks together, on a slow machine
LOOK_S = 0.5
COMPUTE = ("node", "agent")  # of a site; its broker is its memory


@dataclass(frozen=True, slots=True)
class SiteSize:
    """How much each site has."""

    slots: int = 3  # tasks of the pipeline
    cores: int = 4  # of its Spark application, as Spark counts them: a task that waits for a link holds one
    memory: str = "768m"
    broker_heap: str = "256m"


class SiteServers:
    """Started, looked after and ended by one thread: a server ends with the thread that has started it."""

    def __init__(
        self, bed: WanTestbed, folder: Path, size: SiteSize, say: Callable[[str], None], held: HeldSites | None = None
    ) -> None:
        self._held = held or HeldSites(folder / "held")
        self._bed, self._folder, self._size, self._say = bed, folder, size, say
        self.token = secrets.token_urlsafe(32)
        self._running: dict[tuple[str, str], ServerProcess] = {}  # by site and kind
        self._starts = 0

    @property
    def addresses(self) -> tuple[SiteAddress, ...]:
        return tuple(
            SiteAddress(
                name, f"http://{self._bed.address(name)}:{NODE_PORT}", f"http://{self._bed.address(name)}:{AGENT_PORT}",
                f"{self._bed.address(name)}:{BROKER_PORT}", str(self._site(name)), self._size.slots,
            )
            for name in self._bed.names
        )  # fmt: skip

    def process(self, site: str, kind: str) -> ServerProcess:
        """`kind` is broker, agent or node."""
        return self._running[site, kind]

    def start(self) -> None:
        """Returns when all of them answer."""
        for site in self._bed.names:
            self._site(site).mkdir(parents=True, exist_ok=True)
        with open(os.open(self._token_file, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as out:
            out.write(self.token)
        self._say(f"starting a Spark application, a broker and an agent at each of {', '.join(self._bed.names)}")
        for site in self._bed.names:
            self._start(site, "node")
            self._start(site, "agent")
        for site in self._bed.names:
            self._start(site, "broker")
        until = time.monotonic() + UP_S
        for address in self.addresses:
            with NodeClient(address.node, self.token, attempts=1) as client:
                while not _answers(client):
                    self._check_alive(address.name)
                    if time.monotonic() > until:
                        raise HeadwayError(
                            f"site {address.name}: no node answers within {UP_S:g} s, see {self._log('node')}"
                        )
                    time.sleep(LOOK_S)

    def make_topics(self, named: Sequence[tuple[str, str]]) -> None:
        """Site and topic of each source, for the program that sends to it."""
        at = {address.name: address.broker for address in self.addresses}
        for site, topic in named:
            topics.create(at[site], topic)

    def look_after(self) -> list[str]:
        """Whatever has ended is started again, and goes on with what it had, but for sites that are held; what was done."""
        held = self._held.names
        down = [(site, kind) for site, kind in self._running if site in held and kind in COMPUTE]
        killed = [key for key in down if self._running[key].alive]
        for key in killed:
            self._running[key].kill()
        ended = [key for key, one in self._running.items() if key not in down and not one.alive]
        for site, kind in ended:
            self._start(site, kind)
        return [
            *(f"the {kind} of {site} is killed, and stays down until the site is up" for site, kind in killed),
            *(f"the {kind} of {site} had ended, and is started again" for site, kind in ended),
        ]

    def stop(self) -> None:
        """Nodes first: their queries still write to the brokers."""
        for kinds in (("node",), ("agent", "broker")):
            group = [one for (_, kind), one in self._running.items() if kind in kinds]
            with ThreadPoolExecutor(max(1, len(group))) as workers:
                list(workers.map(lambda one: one.stop(keep=True), group))
        self._running.clear()

    # ---- how

    @property
    def _token_file(self) -> Path:
        return self._folder / "token"

    def _site(self, site: str) -> Path:
        return self._folder / "sites" / site

    def _log(self, name: str) -> Path:
        return self._folder / name

    def _start(self, site: str, kind: str) -> None:
        place = self._log(f"{kind}-{site}")
        place.mkdir(exist_ok=True)
        host = self._bed.address(site)
        if kind == "broker":
            self._running[site, kind] = broker.start(
                place, port=BROKER_PORT, heap=self._size.broker_heap, host=host, inside=self._bed.command(site)
            )  # fmt: skip
            return
        port = NODE_PORT if kind == "node" else AGENT_PORT
        words = self._node(site, place) if kind == "node" else ["headway.wan.agent", "--root", str(self._site(site))]
        command = [sys.executable, "-m", *words, "--host", host, "--port", str(port), "--token-file", str(self._token_file)]
        inside = self._bed.command(site, "env", "SPARK_LOCAL_IP=127.0.0.1", *command)
        process = servers.launched(inside, place, ends_with_parent=True)
        self._running[site, kind] = ServerProcess(port, process.pid, str(place), servers.born(process), host)

    def _node(self, site: str, place: Path) -> list[str]:
        self._starts += 1
        return [
            "headway", "node", "--name", site, "--master", f"local[{self._size.cores}]", "--memory", self._size.memory,
            "--kafka", "--journal", str(place / f"journal-{self._starts}.db"),
        ]  # fmt: skip

    def _check_alive(self, site: str) -> None:
        for kind in ("node", "agent", "broker"):
            if not self._running[site, kind].alive:
                log = Path(self._running[site, kind].folder, "out.log")
                raise HeadwayError(f"the {kind} of {site} has ended at once: {servers.last_line(log.read_text())}")


def _answers(client: NodeClient) -> bool:
    try:
        client.status()
    except HeadwayError:
        return False
    return True
