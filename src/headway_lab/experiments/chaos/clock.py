"""The wall clock that a child and its JVM see, set by a file: this machine's own clock stays as it is."""

import struct
import subprocess
from importlib.resources import files
from pathlib import Path

from headway.errors import HeadwayError


class ChildClock:
    """Preloads a few functions of libc into the child. It needs a C compiler."""

    def __init__(self, work: Path) -> None:
        self._step, library = work / "clock-step", work / "clock_step.so"
        self.set_ms = 0
        self._step.write_bytes(struct.pack("<q", 0))
        source = files("headway_lab.experiments.chaos") / "clock_step.c"
        try:
            made = subprocess.run(
                ["cc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library), "-ldl"],
                input=source.read_bytes(), capture_output=True, check=False,
            )  # fmt: skip
        except FileNotFoundError:
            raise HeadwayError("no C compiler: the clock cannot be set for a child alone") from None
        if made.returncode != 0:
            raise HeadwayError(f"the clock cannot be set for a child alone: {made.stderr.decode()[:200]}")
        self.env = {"LD_PRELOAD": str(library), "HEADWAY_CLOCK_STEP": str(self._step)}

    def set(self, ms: int) -> None:
        """So far from this machine's clock, from now on, for all processes of the child at once."""
        self.set_ms = ms
        with self._step.open("r+b") as file:
            file.write(struct.pack("<q", ms))
