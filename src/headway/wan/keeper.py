"""The process that a testbed lives in: to kill it takes every site, link and limit away, and leaves nothing behind.

Each site is a network namespace without a name, held by one process that dies with the keeper. A namespace goes with its
last process, and its ends of links with it. So there is nothing to clean up, not even after `kill -9`.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import combinations

NET = "10.78.0"
BURST_BYTES = 32_000
QUEUE_MS = 400  # what waits longer in front of a link is dropped
HOLD = ("setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sleep", "infinity")


def address(site: int) -> str:
    """The same on all of its links."""
    return f"{NET}.{site + 1}"


def device(other: int) -> str:
    """A site's end of its link to another one."""
    return f"hw-to-{other}"


def inside(pid: int, *command: str) -> list[str]:
    """A command in the network of a site."""
    return ["nsenter", "--target", str(pid), "--net", *command]


def shaped(verb: str, other: int, bits_per_s: int) -> list[str]:
    """Limits what a site sends to another one."""
    limit = ["rate", f"{bits_per_s}bit", "burst", str(BURST_BYTES), "latency", f"{QUEUE_MS}ms"]
    return ["tc", "qdisc", verb, "dev", device(other), "root", "tbf", *limit]


def begin(sites: int, bits_per_s: int) -> list[int]:
    """Sites with a link between each two; answers with the processes that hold them. Raises what a command said."""
    pids = [subprocess.Popen(HOLD, stdin=subprocess.DEVNULL).pid for _ in range(sites)]
    for pid in pids:
        _wait_for_net(pid)
        _do(inside(pid, "ip", "link", "set", "lo", "up"))
    for a, b in combinations(range(sites), 2):
        # Made inside of a site: the machine's own network never sees it.
        made = ["ip", "link", "add", device(b), "type", "veth", "peer", "name", device(a), "netns", str(pids[b])]
        _do(inside(pids[a], *made))
        for here, there in ((a, b), (b, a)):
            own = ["ip", "addr", "add", address(here), "peer", address(there), "dev", device(there)]
            _do(inside(pids[here], *own))
            _do(inside(pids[here], "ip", "link", "set", device(there), "up"))
            _do(inside(pids[here], *shaped("add", there, bits_per_s)))
    return pids


def _wait_for_net(pid: int) -> None:
    """Until the process has a network of its own: before that, a command would work on the machine's."""
    own = os.readlink("/proc/self/ns/net")
    for _ in range(500):
        if os.readlink(f"/proc/{pid}/ns/net") != own:
            return
        time.sleep(0.01)
    raise RuntimeError("a site has no network of its own after 5 s")


def _do(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")


def main(args: Sequence[str]) -> None:
    """`python -m headway.wan.keeper SITES BITS_PER_S`: one line of JSON, and then it waits to be ended."""
    try:
        told = {"sites": begin(int(args[0]), int(args[1]))}
    except (RuntimeError, OSError) as error:
        told = {"error": " ".join(str(error).split())}  # type: ignore[dict-item]
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
    if "sites" in told:
        signal.pause()


if __name__ == "__main__":
    main(sys.argv[1:])
