"""Change the plan and where it is placed, with as many tasks of each stage as before."""

from dataclasses import dataclass
from typing import ClassVar

from headway.model.adaptation import Technique
from headway.policy.adaptation.wasp import Wasp


@dataclass(frozen=True, slots=True)
class ReplanOnly(Wasp):
    """The best plan and placement for what is seen, as far as its state allows."""

    techniques: ClassVar[frozenset[Technique]] = frozenset(("re-plan",))
