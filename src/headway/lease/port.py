"""What a lease is to its user, whatever it is made of."""

from typing import Protocol


class Lease(Protocol):
    """The right to use one checkpoint, from when it was acquired until it is released or lost."""

    token: int | None  # grows with every holder; None where no holder can be replaced while it lives
    renew_every_s: float | None  # None if it need not be renewed

    @property
    def lost(self) -> str | None:
        """The holder that has it instead, in words. Once lost, always lost."""
        ...

    def sure(self) -> bool:
        """No other holder can have it at this moment. Asks nothing but our own clock, and may be asked from any thread."""
        ...

    def renew(self) -> None:
        """Show that the holder lives, and look whether another holder has taken over. May take its time, and may raise."""
        ...

    def release(self) -> None:
        """Give it back. A second call does nothing."""
        ...


class Leasing(Protocol):
    """Gives leases."""

    def acquire(self, checkpoint: str, holder: str) -> Lease:
        """Raises a SettingError that names the holder. May wait to see whether that one still lives."""
        ...
