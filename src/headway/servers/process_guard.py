"""Processes that end with the process that started them, also if that one is killed."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def end_with_parent(how: signal.Signals = signal.SIGTERM) -> Callable[[], None]:
    """What the new process is to call before its program starts. Linux only: elsewhere a parent that is killed leaves it."""
    parent = os.getpid()

    def guard() -> None:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, how)
            if os.getppid() != parent:  # it was killed before we could ask to be told
                os._exit(1)

    return guard
