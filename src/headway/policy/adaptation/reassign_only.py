"""Move tasks, and never change how many there are, nor the plan."""

from dataclasses import dataclass
from typing import ClassVar

from headway.model.adaptation import Technique
from headway.policy.adaptation.wasp import Wasp


@dataclass(frozen=True, slots=True)
class ReassignOnly(Wasp):
    """As many tasks as at first, elsewhere."""

    techniques: ClassVar[frozenset[Technique]] = frozenset(("re-assign",))
