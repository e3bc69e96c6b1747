"""A process from outside that eats processor time or loopback bandwidth, for experiments on interference.

    with eating("cpu", 1.5, seconds=60): ...             # one and a half cores' worth
    with eating("bandwidth", 50, seconds=60): ...        # 50 MB a second over the loopback

It ends by itself after its seconds, when it is told to, and with the process that started it, however that one ends. What it
ate it says in one line of JSON.
"""

import hashlib
import json
import math
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from headway.errors import SettingError
from headway.servers.process_guard import end_with_parent

KINDS = ("cpu", "bandwidth")
LONGEST_S = 3_600  # a forgotten hog ends after this
BITE = bytes(256 * 1024)  # hashed or sent at once: some tenths of a millisecond
NAP_S = 0.002
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class HogMeal:
    """What a hog has eaten."""

    seconds: float
    cpu_s: float
    megabytes: float


@contextmanager
def eating(kind: str, amount: float, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    """A hog beside the body of the `with`: so many cores' worth, or megabytes a second; at most for so many seconds."""
    hog = begin(kind, amount, seconds)
    try:
        yield hog
    finally:
        hog.terminate()
        hog.wait()
        if hog.stdout is not None:
            hog.stdout.close()


def begin(kind: str, amount: float, seconds: float) -> subprocess.Popen[bytes]:
    """A hog as a process of its own; `eaten` waits for its end."""
    check(kind, amount, seconds)
    command = [sys.executable, "-m", __name__, kind, str(amount), str(seconds), str(os.getpid())]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=end_with_parent())


def eaten(hog: subprocess.Popen[bytes]) -> HogMeal:
    """What a hog says when it has ended by itself."""
    said, _ = hog.communicate()
    return HogMeal(**json.loads(said))


def check(kind: str, amount: float, seconds: float) -> None:
    if kind not in KINDS:
        raise SettingError("hog.kind", kind, f"one of {', '.join(KINDS)}")
    if not 0 < amount < math.inf:
        raise SettingError("hog.amount", amount, "more than 0: cores, or megabytes a second")
    if not 0 < seconds <= LONGEST_S:
        raise SettingError("hog.seconds", seconds, f"more than 0, up to {LONGEST_S}")


def shares(cores: float) -> list[float]:
    """How much of a core each thread is to eat."""
    whole, rest = divmod(cores, 1)
    return [1.0] * int(whole) + ([rest] if rest > 1e-9 else [])


# ---- within the process


def _main(words: Sequence[str]) -> None:
    kind, amount, seconds, parent = words[0], float(words[1]), float(words[2]), int(words[3])
    check(kind, amount, seconds)
    began = time.monotonic()

    def goes_on() -> bool:
        # A parent that is gone leaves its children to another; where the kernel tells them, this is one look too many.
        return time.monotonic() - began < seconds and os.getppid() == parent

    sent = _eat_cpu(amount, goes_on) if kind == "cpu" else _eat_bandwidth(amount, goes_on)
    meal = HogMeal(round(time.monotonic() - began, 3), round(time.process_time(), 3), round(sent / MEGABYTE, 3))
    print(json.dumps(asdict(meal)), flush=True)


def _eat_cpu(cores: float, goes_on: Callable[[], bool]) -> int:
    """Each thread hashes, which needs no interpreter lock, until it has had its share; then it naps until it has not."""

    def eat(share: float) -> None:
        began = time.monotonic()
        while goes_on():
            if time.thread_time() < share * (time.monotonic() - began):
                hashlib.sha256(BITE)
            else:
                time.sleep(NAP_S)

    _all_at_once([threading.Thread(target=eat, args=(share,)) for share in shares(cores)])
    return 0


def _eat_bandwidth(megabytes_per_s: float, goes_on: Callable[[], bool]) -> int:
    """Bytes from one socket to another over the loopback; how many arrived."""
    sent, arrived = [0], [0]
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = socket.create_connection(server.getsockname())
        sink, _ = server.accept()

    def give() -> None:
        began = time.monotonic()
        with source:
            while goes_on():
                if sent[0] < megabytes_per_s * MEGABYTE * (time.monotonic() - began):
                    source.sendall(BITE)
                    sent[0] += len(BITE)
                else:
                    time.sleep(NAP_S)

    def take() -> None:
        with sink:
            while got := len(sink.recv(len(BITE))):
                arrived[0] += got

    _all_at_once([threading.Thread(target=give), threading.Thread(target=take)])
    return arrived[0]


def _all_at_once(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    _main(sys.argv[1:])
