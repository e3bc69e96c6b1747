"""Samples and the answers that they give, which every language that works them out is held to.

They were worked out with fractions, row by row as the definitions of Horvitz and Thompson and of Hajek say, not from sums.
"""

import json
from dataclasses import astuple, dataclass
from math import isclose
from pathlib import Path
from typing import Any

from headway.estimate.bounds import Answer, Certainty, Sums
from headway.model.offset import Sampled


@dataclass(frozen=True)
class Vector:
    """A sample, what is asked of it, and the answer."""

    kind: str  # mean, total, number, quantile
    rows: tuple[tuple[float, float], ...]  # value, and the rate it was taken with
    sums: Sums
    sampled: Sampled  # the part of an offset that says how sure answers are
    says: Answer
    share: float = 0.5  # of a quantile
    percentiles: tuple[float, ...] = ()

    @property
    def sure(self) -> Certainty:
        return Certainty.of(self.sampled)

    def is_said_by(self, found: Answer) -> bool:
        """But for the last digits: sums in another order."""
        pairs = zip(astuple(found), astuple(self.says), strict=True)
        return all(a is b if a is None or b is None else isclose(a, b, rel_tol=1e-9) for a, b in pairs)


def _vector(told: dict[str, Any]) -> Vector:
    more = {"share": told["share"], "percentiles": tuple(told["percentiles"])} if "share" in told else {}
    rows = tuple((value, rate) for value, rate in told["rows"])
    return Vector(told["kind"], rows, Sums(**told["sums"]), Sampled(**told["certainty"]), Answer(**told["says"]), **more)


VECTORS: dict[str, Vector] = {
    told["name"]: _vector(told) for told in json.loads(Path(__file__).with_name("answers.json").read_text())
}
