"""The user's own trigger: which of Spark's there are, and what becomes of each under a gate."""

from dataclasses import dataclass
from typing import Any

from headway.errors import SettingError, aloud
from headway.spark.writer import field_of


@dataclass(frozen=True, slots=True)
class TriggerSeen:
    """What a writer's trigger asks for."""

    every_ms: int = 0  # batches begin on these ticks; the gate keeps them
    bounded: bool = False  # what is there is read, then the run ends


def taken_over(writer: Any, query: str) -> tuple[Any, TriggerSeen]:
    """The writer as Spark starts it under a gate, and what its trigger was."""
    trigger = field_of(writer, "trigger")
    kind = "" if trigger is None else trigger.getClass().getSimpleName().rstrip("$")
    match kind:
        case "ProcessingTimeTrigger" if trigger.intervalMs() > 0:
            # The gate keeps the ticks: Spark's own would come on top of the wait at the gate.
            return writer.trigger(processingTime="0 seconds"), TriggerSeen(every_ms=int(trigger.intervalMs()))
        case "AvailableNowTrigger":
            return writer, TriggerSeen(bounded=True)
        case "OneTimeTrigger":
            aloud(f"query {query!r}: trigger once is run as availableNow, which emits what rows close")
            return writer.trigger(availableNow=True), TriggerSeen(bounded=True)
        case "ContinuousTrigger" | "RealTimeTrigger":
            want = "processingTime, availableNow or none: Headway decides between micro-batches, and this trigger has none"
            raise SettingError("trigger", kind.removesuffix("Trigger"), want)
    return writer, TriggerSeen()
