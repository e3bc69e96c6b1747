"""Deadline: a slack gate whose threshold is tuned, so that windows come out in time and as little as possible is late."""

from dataclasses import dataclass

from headway.errors import SettingError
from headway.model.patience import PatienceView, Wait
from headway.model.slack import SlackPolicy
from headway.model.time import duration_ms
from headway.policy.patience.bounds import Gated
from headway.policy.slack.tuner import SLTuner


@dataclass(frozen=True, slots=True)
class Deadline(Gated):
    """Emit every window within `within` of its end; until then wait for the slowest source (see `SlackGate`).

    The threshold is set by `tuner`, SLTuner unless told. The deadline counts all: waiting, reading, computing.
    """

    within: str | int
    tuner: SlackPolicy | None = None

    def __post_init__(self) -> None:
        if self.within_ms <= 0:
            raise SettingError("patience.within", self.within, "a duration of more than 0 ms, e.g. '6 s'")

    @property
    def within_ms(self) -> int:
        return duration_ms("patience.within", self.within)

    @property
    def slt_ms(self) -> int:
        """Where it starts: half of what there is, since it is not known yet what a batch takes."""
        return self.within_ms // 2

    @property
    def most_ms(self) -> int:
        return self.within_ms

    def decide(self, seen: PatienceView) -> Wait:
        return Wait(self.delay_ms, "where its slack threshold starts")

    @property
    def tunes(self) -> SlackPolicy:
        """Sets the threshold after each window."""
        return self.tuner or SLTuner(self.within_ms)
