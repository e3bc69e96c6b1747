"""The user's own trigger: which of Spark's there are, and what becomes of each under a gate."""

from dataclasses import dataclass
from typing import Any

from headway.errors import SettingError, aloud
from headway.spark.writer import field_of

_BOUNDED = {"AvailableNowTrigger": "availableNow", "OneTimeTrigger": "once"}


@dataclass(frozen=True, slots=True)
class TriggerSeen:
    """What a writer's trigger asks for."""

    every_ms: int = 0  # batches begin on these ticks; the gate keeps them
    bounded: bool = False  # what is there is read, then the run ends


def taken_over(writer: Any, query: str, can_end: bool = True) -> tuple[Any, TriggerSeen]:
    """The writer as Spark starts it under a gate, and what its trigger was.

    `can_end` says that the control source knows runs that end by themselves: not the one in Python before Spark 4.2.
    """
    trigger = field_of(writer, "trigger")
    kind = "" if trigger is None else trigger.getClass().getSimpleName().rstrip("$")
    if kind in _BOUNDED and not can_end:
        want = "processingTime or none: before Spark 4.2 a run that ends by itself needs Headway's jar (`headway jar`)"
        raise SettingError("trigger", _BOUNDED[kind], want)
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
