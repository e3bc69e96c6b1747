"""What a site has to run, as a file that its node is given: pieces, the job, brokers, and where results of a plan end.

The file is Python, as every pipeline file is; what it says is in a JSON file beside it. A limit is in a file of its own,
because it is set while the pieces run.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.model.piece import Channel, Piece
from headway.model.time import EventMs

CODE = "from headway.spark.geo.declared import declare\n\ndeclare({facts!r})\n"


@dataclass(frozen=True, slots=True)
class SiteFile:
    """The pieces of one site and generation."""

    job: str  # the user's file
    servers: dict[str, str]  # the broker of each site
    limits: str  # the file with where each generation ends
    pieces: tuple[Piece, ...]

    def written(self, path: Path) -> Path:
        """`path` ends in .py; what it says, in .json."""
        facts = path.with_suffix(".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        _whole(facts, json.dumps(asdict(self)))
        _whole(path, CODE.format(facts=str(facts)))
        return path

    @classmethod
    def read(cls, facts: Path) -> "SiteFile":
        told = json.loads(facts.read_text())
        return cls(told["job"], told["servers"], told["limits"], pieces_in(told["pieces"]))


def pieces_in(told: Sequence[Mapping[str, Any]]) -> tuple[Piece, ...]:
    """As `asdict` and JSON have left them."""
    return tuple(
        Piece(
            **{
                **one,
                "stages": tuple(one["stages"]),
                "reads": tuple(Channel(**channel) for channel in one["reads"]),
                "writes": tuple(Channel(**channel) for channel in one["writes"]),
            }
        )
        for one in told
    )


def ends_of(limits: Path) -> dict[int, EventMs]:
    """By generation: results from that moment on are the next one's."""
    try:
        told: dict[str, int] = json.loads(limits.read_text())
    except FileNotFoundError:
        return {}
    except ValueError:
        raise HeadwayError(
            f"limits = {str(limits)!r}: expected numbers of generations with the moments of their ends"
        ) from None
    return {int(number): EventMs(end) for number, end in told.items()}


def set_end(limits: Path, generation: int, end: EventMs) -> None:
    """Results from then on count no more if they are of this generation. To be said before there can be any."""
    _whole(limits, json.dumps({**{str(n): e for n, e in ends_of(limits).items()}, str(generation): end}))


def _whole(path: Path, text: str) -> None:
    """At once whole, or not at all."""
    half = path.with_name(f".{path.name}.half")
    half.write_text(text)
    half.replace(path)
