"""Headway: a control plane for Spark Structured Streaming.

    import headway as hw

    rt = hw.Runtime(spark)
    clicks = rt.watermark(events, "event_time", hw.patience.Fixed("500 ms"))    # instead of events.withWatermark(...)
    rt.start(clicks.groupBy(...).count().writeStream..., name="campaigns")       # instead of .start()

Names are loaded when they are first used, so that looking at a journal does not need Spark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_WHERE = {
    "Runtime": "headway.spark.runtime",
    "session": "headway.spark.session",
    "tune": "headway.spark.session",
    "doctor": "headway.spark.checkup",
    "advise": "headway.spark.advising",
    "order": "headway.policy.order",
    "patience": "headway.policy.patience",
    "sampling": "headway.policy.sampling",
    "approx": "headway.spark.approx",
    "Relay": "headway.spark.relay.topic",
    "window": "headway.model.deadline",
    "every": "headway.model.deadline",
    "query": "headway.pipeline",
    "epoch": "headway.fleet.epochs",
    "HeadwayError": "headway.errors",
    "SettingError": "headway.errors",
}
__all__ = [
    "HeadwayError", "Relay", "Runtime", "SettingError", "advise", "approx", "doctor", "epoch", "every", "order", "patience",
    "query", "sampling", "session", "tune", "window",
]  # fmt: skip

if TYPE_CHECKING:
    from headway.errors import HeadwayError, SettingError
    from headway.fleet.epochs import epoch
    from headway.model.deadline import every, window
    from headway.pipeline import query
    from headway.policy import order, patience, sampling
    from headway.spark import approx
    from headway.spark.advising import advise
    from headway.spark.checkup import doctor
    from headway.spark.relay.topic import Relay
    from headway.spark.runtime import Runtime
    from headway.spark.session import session, tune


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'headway' has no attribute {name!r}")
    try:
        module = import_module(_WHERE[name])
    except ModuleNotFoundError as error:
        from headway.errors import HeadwayError

        if (error.name or "").partition(".")[0] != "pyspark":
            raise
        raise HeadwayError(f"hw.{name} needs pyspark 4.0 or later, and there is no {error.name} here") from None
    return getattr(module, name) if hasattr(module, name) else module
