"""Stock Spark is watched and advised upon; then Klink runs the same queries."""

from dataclasses import asdict, dataclass
from typing import Any

from headway_lab.harness.bench import Bench
from headway_lab.harness.setting import Say, Setting
from headway_lab.harness.suite import measures

EXPERIMENT = "advice"
WATCHED = "stock-tuned"


@dataclass(frozen=True, slots=True)
class AdviceOutcome:
    """What was said beforehand and what came of it, mean waits of windows in ms."""

    seen_ms: float
    again_ms: float  # what the simulator says of the same
    foretold_ms: float
    came_ms: float
    error: float
    error_as_it_was: float
    checks: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        return asdict(self)


def advised(bench: Bench, setting: Setting, seed: int, say: Say) -> AdviceOutcome | None:
    """None where the advice says that it cannot say."""
    from headway.spark.advising import Advising

    watching = Advising(bench.session(setting.profile), 3_600_000, None, say_nothing)
    try:
        for _ in bench.run([WATCHED], setting, seed, say):
            advice = watching.advice()
    finally:
        watching.stop()
    (klink,) = bench.run(["klink"], setting, seed, say)
    came = float(measures(klink)["mean_ms"])
    if (said := advice.saving) is None:
        return None
    return AdviceOutcome(
        said.seen_ms, said.again_ms, said.headway_ms, came, abs(said.headway_ms / came - 1), abs(said.error),
        tuple(sorted({item.check for item in advice.items})),
    )  # fmt: skip


def say_nothing(text: str) -> None:
    """It is asked, and need not tell by itself."""
