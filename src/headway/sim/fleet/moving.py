"""Moves in flight: a target is prepared while the computation runs on, and for a moment nothing of it runs."""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from headway.errors import SettingError
from headway.model.arrays import Floats


@dataclass(frozen=True, slots=True)
class MoveTimes:
    """How long a move takes, log-normal. Out of service as the paper measured it: its median is 35 ms, as ours is live."""

    prepare_ms: float = 300.0  # the target comes up and loads the state; the computation runs on meanwhile
    out_ms: float = 54.68  # mean: drain, hand over, first messages
    out_sd_ms: float = 65.70

    def __post_init__(self) -> None:
        for key in ("prepare_ms", "out_ms", "out_sd_ms"):
            if getattr(self, key) < 0:
                raise SettingError(f"moves.{key}", getattr(self, key), "0 or more milliseconds")

    def drawn(self, rng: np.random.Generator) -> tuple[float, float]:
        """Of one move: milliseconds of preparation, and out of service."""
        luck = rng.standard_normal(2)
        prepare = self.prepare_ms * float(np.exp(0.3 * luck[0]))
        if not self.out_ms:
            return prepare, 0.0
        spread = log(1 + (self.out_sd_ms / self.out_ms) ** 2)
        return prepare, self.out_ms * float(np.exp(sqrt(spread) * luck[1] - spread / 2))


@dataclass(frozen=True, slots=True)
class MoveInFlight:
    """One computation on its way."""

    computation: int
    source: int
    target: int
    asked_ms: float
    out_ms: float  # from here on it is out of service,
    in_ms: float  # until here


class MovesInFlight:
    """At most one move of a computation at a time."""

    def __init__(self, times: MoveTimes, seed: int) -> None:
        self._times, self._rng = times, np.random.default_rng(seed)
        self._moves: dict[int, MoveInFlight] = {}

    def __contains__(self, computation: int) -> bool:
        return computation in self._moves

    def __len__(self) -> int:
        return len(self._moves)

    def begin(self, computation: int, source: int, target: int, now_ms: float) -> MoveInFlight:
        prepare, out = self._times.drawn(self._rng)
        move = MoveInFlight(computation, source, target, now_ms, now_ms + prepare, now_ms + prepare + out)
        self._moves[computation] = move
        return move

    def out_of_service(self, computations: int, from_ms: float, until_ms: float) -> Floats:
        """Milliseconds of this stretch in which each computation runs nowhere."""
        out = np.zeros(computations)
        for move in self._moves.values():
            out[move.computation] = max(0.0, min(move.in_ms, until_ms) - max(move.out_ms, from_ms))
        return out

    def land(self, until_ms: float) -> list[MoveInFlight]:
        """Moves that are done by now, in the order in which they were."""
        done = sorted((m for m in self._moves.values() if m.in_ms <= until_ms), key=lambda m: (m.in_ms, m.computation))
        for move in done:
            del self._moves[move.computation]
        return done
