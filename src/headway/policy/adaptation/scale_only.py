"""Move tasks and change how many there are; the plan stays."""

from dataclasses import dataclass
from typing import ClassVar

from headway.model.adaptation import Technique
from headway.policy.adaptation.wasp import Wasp


@dataclass(frozen=True, slots=True)
class ScaleOnly(Wasp):
    """Re-assign first, then scale out, up and down."""

    techniques: ClassVar[frozenset[Technique]] = frozenset(("re-assign", "scale-up", "scale-out", "scale-down"))
