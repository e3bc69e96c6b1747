"""What a wide-area controller must not forget: which pieces run where, and what it was about to do. One file, always whole.

Each step of a change is written down before it is taken, and all of them may be taken twice. So a controller that was killed
reads the record, and goes on.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.model.geo import Deployment
from headway.model.piece import Piece
from headway.model.time import EventMs
from headway.wan.site_file import pieces_in


@dataclass(frozen=True, slots=True)
class PieceLife:
    """One life of a piece: where it is, and its checkpoint there."""

    site: str
    epoch: int
    folder: str


@dataclass(frozen=True, slots=True)
class PlacedPiece:
    """A piece, the life that it shall have, and the one that it comes from."""

    piece: Piece
    now: PieceLife
    before: PieceLife | None = None  # that it goes on from, until it has begun
    begun: bool = False

    @property
    def name(self) -> str:
        return self.piece.name

    @property
    def moving(self) -> bool:
        return not self.begun and self.before is not None and self.before.site != self.now.site

    def next(self, site: str, folder: str) -> "PlacedPiece":
        """Its next life. One that has not begun leaves nothing to go on from but what it was to go on from itself."""
        before = self.now if self.begun else self.before
        life = PieceLife(site, self.now.epoch + 1, folder)
        return PlacedPiece(replace(self.piece, site=site), life, before)


@dataclass(frozen=True, slots=True)
class RunningPlan:
    """A plan that runs from some moment on, with all of its pieces."""

    number: int
    plan: str
    deployed: Deployment
    pieces: tuple[PlacedPiece, ...]
    since: EventMs | None = None

    def with_piece(self, changed: PlacedPiece) -> "RunningPlan":
        return replace(self, pieces=tuple(changed if one.name == changed.name else one for one in self.pieces))


@dataclass(frozen=True, slots=True)
class AreaRecord:
    """All plans of a pipeline that run: one, or two while one takes over from the other at a moment of the stream."""

    pipeline: str
    sites: tuple[str, ...]
    plans: tuple[RunningPlan, ...] = ()  # the newest last
    epochs: dict[str, int] = field(default_factory=dict)  # of pieces that are over

    @property
    def current(self) -> RunningPlan:
        return self.plans[-1]

    @property
    def retiring(self) -> tuple[RunningPlan, ...]:
        return self.plans[:-1]

    def with_plan(self, changed: RunningPlan) -> "AreaRecord":
        """In place of the one with its number, or as the newest."""
        numbers = [plan.number for plan in self.plans]
        if changed.number not in numbers:
            return replace(self, plans=(*self.plans, changed))
        return replace(self, plans=tuple(changed if plan.number == changed.number else plan for plan in self.plans))

    def without_plan(self, number: int) -> "AreaRecord":
        return replace(self, plans=tuple(plan for plan in self.plans if plan.number != number))


class RecordFile:
    """The record on a disk. One controller writes it."""

    def __init__(self, path: Path, say: Callable[[str], None] = lambda line: None) -> None:
        self.path, self._say = path, say

    def write(self, record: AreaRecord) -> None:
        half = self.path.with_name(f".{self.path.name}.half")
        with half.open("w") as out:
            out.write(json.dumps(asdict(record)))
            out.flush()
            os.fsync(out.fileno())
        half.replace(self.path)

    def read(self) -> AreaRecord | None:
        """None if there is none yet."""
        try:
            told: Mapping[str, Any] = json.loads(self.path.read_text())
            plans = tuple(_plan(one) for one in told["plans"])
            return AreaRecord(told["pipeline"], tuple(told["sites"]), plans, dict(told["epochs"]))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise HeadwayError(f"record = {str(self.path)!r}: expected what a controller has written: {error!r}") from None


def _plan(told: Mapping[str, Any]) -> RunningPlan:
    pieces = tuple(
        PlacedPiece(
            pieces_in([one["piece"]])[0],
            PieceLife(**one["now"]),
            None if one["before"] is None else PieceLife(**one["before"]),
            one["begun"],
        )
        for one in told["pieces"]
    )
    return RunningPlan(told["number"], told["plan"], Deployment.of(told["deployed"]["tasks"]), pieces, told["since"])
