"""A server that one `up` starts on this machine and leaves running, for the `down` and the `status` after it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import typer

from headway.cli import screen
from headway.errors import HeadwayError
from headway.loop.journal_file import state_folder
from headway.servers.process import ServerProcess, alone

Kind = TypeVar("Kind", bound=ServerProcess)


@dataclass(frozen=True, slots=True)
class LocalServer(Generic[Kind]):
    """Where its note is, and what it is called: the `broker` of `headway kafka`."""

    kind: type[Kind]
    command: str
    name: str

    @property
    def note(self) -> Path:
        """Where `up` writes down what it has started."""
        return state_folder() / f"{self.command}.json"

    @property
    def running(self) -> Kind | None:
        known = self.known
        return known if known is not None and known.alive else None

    @property
    def known(self) -> Kind | None:
        """The one that `up` has started last, whether it runs or not."""
        return self.kind.load(self.note)

    @contextmanager
    def to_be_started(self) -> Iterator[None]:
        """One `up` or `down` at a time, and one server."""
        with alone(self.note.with_suffix(".lock")):
            if (other := self.running) is not None:
                raise HeadwayError(f"a {self.name} runs already, on {other.address}: `headway {self.command} down` stops it")
            yield

    def stop(self, keep: bool) -> None:
        """End it, and say so."""
        with alone(self.note.with_suffix(".lock")):
            if (known := self.known) is None:
                raise HeadwayError(f"no {self.name} of `headway {self.command} up` is known: there is nothing to stop")
            was = known.alive
            known.stop(keep=keep)
            self.note.unlink(missing_ok=True)
        kept = f", its data are in {known.folder}" if keep else ""
        screen.out.print(f"{'stopped' if was else 'it had ended already'}{kept}", highlight=False)

    def here(self) -> Kind:
        """The one that runs; without one the command ends with 1."""
        if (running := self.running) is None:
            screen.out.print(f"no {self.name} runs: `headway {self.command} up` starts one", highlight=False)
            raise typer.Exit(1)
        return running
