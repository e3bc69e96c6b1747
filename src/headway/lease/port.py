"""What a lease is to who uses it, whatever it is made of."""

from typing import Protocol


class Lease(Protocol):
    """The right to use one checkpoint, from when it was acquired until it is released or lost."""

    token: int | None  # grows with every holder; None where nobody can be replaced while it lives
    renew_every_s: float | None  # None if it need not be renewed

    @property
    def lost(self) -> str | None:
        """Who has it instead, in words. Once lost, always lost."""
        ...

    def sure(self) -> bool:
        """Nobody else can have it at this moment. Asks nothing but our own clock, and may be asked from any thread."""
        ...

    def renew(self) -> None:
        """Show that the holder lives, and look whether somebody has taken over. May take its time, and may raise."""
        ...

    def release(self) -> None:
        """Give it back. Twice is once."""
        ...


class Leasing(Protocol):
    """Gives leases."""

    def acquire(self, checkpoint: str, holder: str) -> Lease:
        """Raises a SettingError that names who has it. May wait to see whether that one still lives."""
        ...
