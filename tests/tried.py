"""How often a law is tried."""

from hypothesis import settings


def tried(times: int) -> settings:
    """So often where laws are tried a hundred times, and as much more rarely as all are in `make fast`."""
    return settings(max_examples=max(3, times * settings().max_examples // 100))
