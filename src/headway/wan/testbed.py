"""Sites on one machine: network namespaces with a link between each two, whose bandwidth is set while they run.

    bed = testbed.up(["frankfurt", "ohio", "tokyo"], bits_per_s=20_000_000)
    bed.set_bandwidth("frankfurt", "ohio", 5_000_000)
    bed.set_link("frankfurt", "tokyo", up=False)
    subprocess.Popen(bed.command("ohio", "spark-submit", "job.py"))
    bed.down()

Latency is not shaped: `netem` is not to be had on many kernels. What runs in a site must listen on its address.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import psutil

from headway.errors import HeadwayError, SettingError
from headway.servers.process_guard import end_with_parent
from headway.wan.keeper import address, device, inside, shaped

TOOLS = ("ip", "tc", "nsenter", "unshare", "setpriv")
LEAST_BITS = 64_000
MOST_SITES = 16
UP_S = 60


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """One direction of a link."""

    source: str
    target: str
    bits_per_s: int
    sent_bytes: int
    dropped: int
    up: bool = True


@dataclass(frozen=True, slots=True)
class WanTestbed:
    """A testbed that runs, or ran: its keeper, and a process in each site."""

    keeper: int
    keeper_began: float  # so that another process with its number is not taken for it
    names: tuple[str, ...]
    pids: tuple[int, ...]

    @property
    def alive(self) -> bool:
        return _began(self.keeper) == self.keeper_began

    def address(self, site: str) -> str:
        return address(self._place(site))

    def behind(self, name: str) -> str | None:
        """The site to which a device leads; None for any other device."""
        return next((site for place, site in enumerate(self.names) if device(place) == name), None)

    def command(self, site: str, *command: str) -> list[str]:
        """A command that runs in the network of a site."""
        return inside(self._pid(site), *command)

    def entered(self, site: str) -> bool:
        """Whether this process is in the network of that site."""
        return os.readlink("/proc/self/ns/net") == os.readlink(f"/proc/{self._pid(site)}/ns/net")

    def set_bandwidth(self, source: str, target: str, bits_per_s: int) -> None:
        """Of one direction, from now on."""
        _check_bits(bits_per_s)
        if source == target:
            raise SettingError("target", target, f"another site than {source}")
        _told(inside(self._pid(source), *shaped("change", self._place(target), bits_per_s)))

    def set_link(self, site: str, other: str, *, up: bool) -> None:
        """Both directions of a link, from now on. While it is down, what is sent over it is lost."""
        if site == other:
            raise SettingError("target", other, f"another site than {site}")
        for here, there in ((site, other), (other, site)):
            # Addresses stay on a device that is down, and the kernel makes the routes anew from them.
            _told(inside(self._pid(here), "ip", "link", "set", device(self._place(there)), "up" if up else "down"))

    def status(self) -> tuple[LinkStatus, ...]:
        """What the kernel says of every link."""
        out = []
        for source in self.names:
            up = devices_up(self.command(source))
            for place, target in enumerate(self.names):
                if source == target:
                    continue
                said = _told(inside(self._pid(source), "tc", "-j", "-s", "qdisc", "show", "dev", device(place)))
                found = json.loads(said)[0]
                rate = 8 * int(found["options"]["rate"])
                out.append(LinkStatus(source, target, rate, int(found["bytes"]), int(found["drops"]), device(place) in up))
        return tuple(out)

    def down(self) -> bool:
        """End it, and with it everything that it made; False if it had ended before."""
        if not self.alive:
            return False
        holders = [psutil.Process(pid) for pid in self.pids if psutil.pid_exists(pid)]
        os.kill(self.keeper, signal.SIGKILL)
        psutil.wait_procs(holders, timeout=10)
        return True

    def save(self, note: Path) -> None:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, note: Path) -> Self | None:
        """What was written down; None if nothing was, or nothing that can be read."""
        try:
            told = json.loads(note.read_text())
            return cls(int(told["keeper"]), float(told["keeper_began"]), tuple(told["names"]), tuple(told["pids"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _place(self, site: str) -> int:
        if site not in self.names:
            raise SettingError("site", site, f"one of {', '.join(self.names)}")
        return self.names.index(site)

    def _pid(self, site: str) -> int:
        place = self._place(site)
        if not self.alive:
            raise HeadwayError("the testbed has ended: `headway wan up` starts another one")
        return self.pids[place]


def devices_up(enter: Sequence[str]) -> frozenset[str]:
    """Names of the devices of a site that are not set down; `enter` is what commands begin with that run there."""
    said = json.loads(_told([*enter, "ip", "-j", "link", "show"]))
    return frozenset(str(one["ifname"]) for one in said if "UP" in one["flags"])


def up(names: Sequence[str], bits_per_s: int, *, ends_with_parent: bool = False) -> WanTestbed:
    """Start one; it lives until it is taken down or its keeper is killed.

    With `ends_with_parent` also until the thread ends that started it, even if its process is killed.
    """
    _check_bits(bits_per_s)
    if not 2 <= len(names) <= MOST_SITES or len(set(names)) < len(names) or not all(names):
        raise SettingError("sites", ",".join(names), f"two to {MOST_SITES} names, each once")
    if (why := unavailable()) is not None:
        raise HeadwayError(f"no testbed here: {why}")
    command = [sys.executable, "-m", "headway.wan.keeper", str(len(names)), str(bits_per_s)]
    keeper = subprocess.Popen(
        command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True, text=True,
        preexec_fn=end_with_parent() if ends_with_parent else None,
    )  # fmt: skip
    assert keeper.stdout is not None
    told = json.loads(keeper.stdout.readline() or '{"error": "the keeper died"}')
    keeper.stdout.close()
    if "error" in told:
        keeper.wait(timeout=UP_S)
        raise HeadwayError(f"no testbed here: {told['error']}")
    return WanTestbed(keeper.pid, _began(keeper.pid) or 0.0, tuple(names), tuple(told["sites"]))


def unavailable() -> str | None:
    """Why there can be no testbed on this machine; None if there can."""
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing (packages iproute2 and util-linux)"
    made = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True)
    if made.returncode:
        said = made.stderr.strip()
        return f"network namespaces are not permitted ({said}): it takes root, or CAP_SYS_ADMIN and CAP_NET_ADMIN"
    return None


def _check_bits(bits_per_s: int) -> None:
    if bits_per_s < LEAST_BITS:
        raise SettingError("bandwidth", bits_per_s, f"{LEAST_BITS:,} bits a second or more")


def _told(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise HeadwayError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def _began(pid: int) -> float | None:
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.NoSuchProcess:
        return None
