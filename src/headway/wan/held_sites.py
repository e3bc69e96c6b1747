"""Sites of a testbed that are held down: who runs a pipeline kills what computes there, and starts nothing meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headway.servers.process import alone


@dataclass(frozen=True, slots=True)
class HeldSites:
    """Names in a file, one in a line: who says it and who does it are two processes."""

    path: Path

    @property
    def names(self) -> frozenset[str]:
        try:
            return frozenset(self.path.read_text().split("\n")) - {""}
        except FileNotFoundError:
            return frozenset()

    def hold(self, site: str) -> None:
        with self._changing() as names:
            names.add(site)

    def release(self, site: str) -> None:
        with self._changing() as names:
            names.discard(site)

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)

    @contextmanager
    def _changing(self) -> Iterator[set[str]]:
        with alone(self.path.with_suffix(".lock")):
            names = set(self.names)
            yield names
            half = self.path.with_name(f".{self.path.name}.half")
            half.write_text("".join(f"{name}\n" for name in sorted(names)))
            half.replace(self.path)
