"""A network of its own for one node, on a wire that can be cut. Linux, as a user who may do that.

The namespace belongs to a process that ends with the bench; the wire goes with the namespace, so nothing is left behind,
not even after kill -9. Nothing leaves the machine: the addresses are link-local ones.
"""

import asyncio
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headway.errors import HeadwayError
from headway.servers import process as servers

TOOLS = ("ip", "unshare", "nsenter")
READY_S = 10.0


class NodeNamespace:
    """The node's side is `inside`, ours is `outside`."""

    def __init__(self, holder: int, wire: str) -> None:
        self._holder, self._wire = holder, wire
        part = os.getpid() % 250 + 2
        self.outside, self.inside = f"169.254.{part}.1", f"169.254.{part}.2"

    @property
    def enter(self) -> list[str]:
        """Words in front of a command that runs there."""
        return ["nsenter", f"--net=/proc/{self._holder}/ns/net"]

    def connect(self) -> None:
        """Raises a HeadwayError where this user may not."""
        _run("ip", "link", "add", self._wire, "type", "veth", "peer", "name", "eth0", "netns", str(self._holder))
        _run("ip", "address", "add", f"{self.outside}/30", "dev", self._wire)
        _run("ip", "link", "set", self._wire, "up")
        _run(*self.enter, "ip", "address", "add", f"{self.inside}/30", "dev", "eth0")
        _run(*self.enter, "ip", "link", "set", "lo", "up")
        self.mend()

    def cut(self) -> None:
        _run(*self.enter, "ip", "link", "set", "eth0", "down")

    def mend(self) -> None:
        _run(*self.enter, "ip", "link", "set", "eth0", "up")


@contextmanager
def namespace(work: Path) -> Iterator[NodeNamespace | None]:
    """None where this machine or this user cannot have one."""
    if any(shutil.which(tool) is None for tool in TOOLS):
        yield None
        return
    holder = servers.launched(["unshare", "--net", "sleep", "infinity"], work, ends_with_parent=True)
    try:
        made = NodeNamespace(holder.pid, f"hwf{os.getpid()}")
        try:
            _await_own_network(holder)
            made.connect()
        except HeadwayError:
            yield None
            return
        yield made
    finally:
        with suppress(HeadwayError):
            _run("ip", "link", "delete", f"hwf{os.getpid()}")  # at once; with the namespace it goes a little later
        holder.kill()
        holder.wait()


def _await_own_network(holder: "subprocess.Popen[bytes]") -> None:
    """`unshare` has its network some milliseconds after it has begun; until then it is in ours."""
    ours = os.readlink("/proc/self/ns/net")
    for _ in range(round(READY_S / 0.01)):
        with suppress(OSError):
            if os.readlink(f"/proc/{holder.pid}/ns/net") != ours:
                return
        with suppress(subprocess.TimeoutExpired):
            holder.wait(0.01)
            break
    raise HeadwayError("unshare: this user may have no network of its own")


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, check=False, text=True)
    if done.returncode != 0:
        raise HeadwayError(f"{' '.join(words)}: {done.stderr.strip()[:200]}")


class TcpRelay:
    """Hands on what comes to an address to a port on loopback: ZooKeeper listens there only."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._to = host, port
        self._up = threading.Event()
        self.port = 0
        threading.Thread(target=lambda: asyncio.run(self._serve()), name="headway-relay", daemon=True).start()
        if not self._up.wait(READY_S):
            raise HeadwayError(f"relay: nothing listens on {host}")

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._hand_on, self._host, 0)
        self.port = int(server.sockets[0].getsockname()[1])
        self._up.set()
        await server.serve_forever()

    async def _hand_on(self, here: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            there, out = await asyncio.open_connection("127.0.0.1", self._to)
            ways = [asyncio.create_task(_pump(here, out)), asyncio.create_task(_pump(there, back))]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)  # the end of one way ends both
            for way in ways:
                way.cancel()
            out.close()
        back.close()


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
