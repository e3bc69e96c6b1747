"""Processes that end with the process that started them, also if that one is killed."""

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """To be called in the new process before its program starts. Linux only: elsewhere a parent that is killed leaves it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
