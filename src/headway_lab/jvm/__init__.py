"""The laboratory's jar: the Yahoo workload's events as a source, so that a batch pays for no plan that makes them."""

from pathlib import Path
from typing import Any

from headway.spark.jvm import digest_of

EVENTS = "headway-ad-events"
_HERE = Path(__file__).parent
JAR = _HERE / "headway-lab.jar"
SOURCES = sorted((_HERE / "headway" / "lab").glob("*.java"))


def digest() -> str:
    """What the sources are, in one word."""
    return digest_of(SOURCES)


def present(spark: Any) -> bool:
    """Whether this session's JVM has it."""
    from py4j.java_gateway import JavaClass

    return isinstance(spark._jvm.headway.lab.AdEvents, JavaClass)
