"""Control offsets and their exact texts, which every language that reads and writes them is held to."""

import json
from pathlib import Path
from typing import Any

from headway.model.offset import ControlOffset, Sampled

_FILE = json.loads(Path(__file__).with_name("control_offsets.json").read_text())

Vector = tuple[str, ControlOffset]


def _offset(told: dict[str, Any]) -> ControlOffset:
    sampled = None
    if (fields := told["sampled"]) is not None:
        lists = {"arrived": tuple(fields["arrived"]), "keys": tuple((key, share) for key, share in fields["keys"])}
        sampled = Sampled(**{**fields, **lists})
    return ControlOffset(told["seq"], told["wm"], told["live"], sampled, told["version"])


WRITTEN: dict[str, Vector] = {told["name"]: (told["text"], _offset(told)) for told in _FILE["written"]}
READ: dict[str, Vector] = {told["name"]: (told["text"], _offset(told)) for told in _FILE["read"]}  # nobody writes these
REFUSED: list[tuple[str, str]] = [(told["text"], told["says"]) for told in _FILE["refused"]]
