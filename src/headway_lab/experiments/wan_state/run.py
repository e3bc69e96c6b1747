"""One seed: a checkpoint is pulled over a shaped link, a part of it changes, it is pulled again; then to which target."""

import filecmp
import json
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from headway.errors import HeadwayError
from headway.model.area import LOCAL, Area, Links, Site
from headway.model.geo import Stage
from headway.policy.adaptation.state_moves import state_moves, takes_s
from headway.servers import process as servers
from headway.servers.process import ServerProcess
from headway.transfer.wire import TransferReport
from headway.wan import testbed
from headway.wan.testbed import WanTestbed
from headway_lab.experiments.wan_state import checkpoint

EXPERIMENT = "wan-state"
HOME, PORT = "home", 7071
USD_PER_GB = 0.02
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class StateCase:
    """How much goes over which links: from home to each of the targets."""

    megabytes: int = 64
    mbit: tuple[int, ...] = (20, 10, 5)
    changed: float = 0.05

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(f"target-{n}" for n in range(len(self.mbit)))


@dataclass(frozen=True, slots=True)
class PulledState:
    """A pull of everything, and one after a part had changed."""

    wrong: int  # files that differ afterwards
    seconds: float
    expected_s: float  # bytes sent over bandwidth
    time_ratio: float
    sent_mb: float
    wire_mb: float  # by the kernel, heads of packets and all
    dollars: float
    compressed: float  # of the bytes of files, the share that was sent
    again_mb: float  # sent the second time
    again_share: float  # of what was sent the first time
    again_s: float


@dataclass(frozen=True, slots=True)
class ChosenTarget:
    """Where state went, and how long that took."""

    target: str
    expected_s: float  # by the links as they were probed; 0 for who does not look
    move_s: float
    sent_mb: float
    dollars: float


class StateBed:
    """Sites with an agent each, and a checkpoint at home."""

    def __init__(self, bed: WanTestbed, case: StateCase, folder: Path, agents: Sequence[ServerProcess], token: str) -> None:
        self.bed, self.case, self.folder, self.agents, self.token = bed, case, folder, agents, token

    def pull(self, target: str, into: str) -> TransferReport:
        """By the agent of the target, as a move does it."""
        told = {"do": "pull", "agent": self.url(target), "url": self.url(HOME), "folder": "state", "into": into}
        return TransferReport.read(json.dumps(self._inside(target, told)))

    def bandwidths(self) -> list[float]:
        """Bytes a second from home to each target, as a probe of the product finds them."""
        return [float(self._inside(t, {"do": "probe", "url": self.url(HOME)})["bytes_per_s"]) for t in self.case.targets]

    def url(self, site: str) -> str:
        return f"http://{self.bed.address(site)}:{PORT}"

    def sent_bytes(self) -> int:
        return sum(link.sent_bytes for link in self.bed.status() if link.source == HOME)

    def _inside(self, site: str, told: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps({**told, "token": self.token})
        command = self.bed.command(site, sys.executable, "-m", "headway_lab.experiments.wan_state.inside", text)
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise HeadwayError(f"{site}: {servers.last_line(done.stderr)}")
        return dict(json.loads(done.stdout))


def play(case: StateCase, seed: int, folder: Path, say: Say) -> tuple[PulledState, dict[str, ChosenTarget]]:
    with _up(case, folder) as bed:
        checkpoint.written(folder / HOME / "state", seed, case.megabytes)
        say(f"{case.megabytes} MB over {case.mbit[0]} Mbit/s")
        pulled = _pulled(bed, seed)
        chosen = {}
        for arm, choose in (("network-aware", _aware), ("random", _random)):
            target, expected_s = choose(bed, seed)
            say(f"{arm}: to {target}")
            report = bed.pull(target, f"by-{arm}")
            sent = report.sent_bytes
            chosen[arm] = ChosenTarget(target, round(expected_s, 3), round(report.seconds, 3), *_cost(sent))
    return pulled, chosen


def _pulled(bed: StateBed, seed: int) -> PulledState:
    case, target = bed.case, bed.case.targets[0]
    before = bed.sent_bytes()
    first = bed.pull(target, "state")
    wire = bed.sent_bytes() - before
    home, there = bed.folder / HOME / "state", bed.folder / target / "state"
    wrong = different(home, there)
    checkpoint.changed(home, seed, case.changed)
    again = bed.pull(target, "state")
    wrong += different(home, there)
    expected = first.sent_bytes * 8 / (case.mbit[0] * 1e6)
    return PulledState(
        wrong=wrong,
        seconds=round(first.seconds, 3),
        expected_s=round(expected, 3),
        time_ratio=round(first.seconds / expected, 4),
        sent_mb=round(first.sent_bytes / 1e6, 3),
        wire_mb=round(wire / 1e6, 3),
        dollars=round(wire / 1e9 * USD_PER_GB, 6),
        compressed=round(first.sent_bytes / first.raw_bytes, 4),
        again_mb=round(again.sent_bytes / 1e6, 3),
        again_share=round(again.sent_bytes / first.sent_bytes, 4),
        again_s=round(again.seconds, 3),
    )


def _aware(bed: StateBed, seed: int) -> tuple[str, float]:
    """The product's own estimate of each move, by links as they were probed a moment ago."""
    names = (HOME, *bed.case.targets)
    bandwidth = np.full((len(names), len(names)), LOCAL)
    bandwidth[0, 1:] = bed.bandwidths()
    zero = np.zeros(bandwidth.shape)
    area = Area(tuple(Site(name, 1) for name in names), Links(zero, bandwidth, zero, zero))
    stage = Stage("state", "combine", ("rows",), window_ms=1_000, state_mb=bed.case.megabytes)
    here = [1, *(0 for _ in bed.case.targets)]
    seconds = {
        target: takes_s(state_moves(stage, here, [0, *(int(t == target) for t in bed.case.targets)], area))
        for target in bed.case.targets
    }
    best = min(seconds, key=lambda target: (seconds[target], target))
    return best, seconds[best]


def _random(bed: StateBed, seed: int) -> tuple[str, float]:
    """As many seeds as there are targets draw each of them once: that is what chance comes to on average."""
    drawn = Random(0).sample(bed.case.targets, len(bed.case.targets))
    return drawn[seed % len(drawn)], 0.0


def different(one: Path, other: Path) -> int:
    """Files that are in only one of two folders, or are not the same in both."""
    names = {file.relative_to(root) for root in (one, other) for file in root.rglob("*") if file.is_file()}
    return sum(
        not ((one / name).is_file() and (other / name).is_file() and filecmp.cmp(one / name, other / name, shallow=False))
        for name in names
    )


def _cost(sent: int) -> tuple[float, float]:
    return round(sent / 1e6, 3), round(sent / 1e9 * USD_PER_GB, 6)


@contextmanager
def _up(case: StateCase, folder: Path) -> Iterator[StateBed]:
    names, token = (HOME, *case.targets), secrets.token_urlsafe(32)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "token").write_text(token)
    bed = testbed.up(names, max(case.mbit) * 1_000_000, ends_with_parent=True)
    agents: list[ServerProcess] = []
    try:
        for target, mbit in zip(case.targets, case.mbit, strict=True):
            for pair in ((HOME, target), (target, HOME)):
                bed.set_bandwidth(*pair, mbit * 1_000_000)
        agents += [_agent(bed, name, folder) for name in names]
        for agent, name in zip(agents, names, strict=True):
            _await_agent(bed, name, agent)
        yield StateBed(bed, case, folder, agents, token)
    finally:
        for agent in agents:
            agent.stop(keep=True)
        bed.down()
        for name in names:
            shutil.rmtree(folder / name, ignore_errors=True)


def _agent(bed: WanTestbed, site: str, folder: Path) -> ServerProcess:
    root, host = folder / site, bed.address(site)
    root.mkdir(exist_ok=True)
    words = ["--root", str(root), "--host", host, "--port", str(PORT), "--token-file", str(folder / "token")]
    place = folder / f"agent-{site}"
    place.mkdir(exist_ok=True)
    command = bed.command(site, sys.executable, "-m", "headway.wan.agent", *words)
    process = servers.launched(command, place, ends_with_parent=True)
    return ServerProcess(PORT, process.pid, str(place), servers.born(process), host)


def _await_agent(bed: WanTestbed, site: str, agent: ServerProcess) -> None:
    """Asked from within: only there is its address."""
    reach = f"""
import socket, sys, time
for _ in range(300):
    with socket.socket() as peer:
        if peer.connect_ex(({agent.host!r}, {PORT})) == 0:
            sys.exit(0)
    time.sleep(0.1)
sys.exit(1)
"""
    if subprocess.run(bed.command(site, sys.executable, "-c", reach)).returncode:
        log = Path(agent.folder, "out.log")
        raise HeadwayError(f"the agent of {site} does not answer: {servers.last_line(log.read_text())}")


def setting(case: StateCase) -> dict[str, Any]:
    return {**asdict(case), "mbit": list(case.mbit)}
