"""Where real data lies: in the folder that HEADWAY_DATA names. It is never part of the project."""

import os
from pathlib import Path

from headway.errors import HeadwayError

NEARBY = Path("../shared/data")


def folder() -> Path | None:
    """The folder with real data, if there is one."""
    named = os.environ.get("HEADWAY_DATA")
    place = Path(named) if named else NEARBY
    return place if place.is_dir() else None


def find(relative: str) -> Path:
    """A file of the data folder; a line that names the way out if it is not there."""
    place = folder()
    if place is None:
        named = os.environ.get("HEADWAY_DATA")
        said = f"HEADWAY_DATA = {named!r} is no folder" if named else "HEADWAY_DATA is not set"
        raise HeadwayError(f"{said}: it must name the folder that holds {relative}")
    if not (place / relative).exists():
        raise HeadwayError(f"{relative} is not in {place}: point HEADWAY_DATA at a folder that has it")
    return place / relative
