"""The part of Headway that runs inside Spark's JVM: a jar of a few classes, compiled from the Java files beside it.

It holds the control source and the workloads' clock as Java twins of the Python sources, the
Yahoo workload's events, a checkpoint writer that starts
no processes, and a rule that leaves out of a batch's plan what no task needs. Nothing depends on it: without the jar the
Python sources do the same, at a higher price.
"""

import hashlib
from pathlib import Path
from typing import Any

# the names of the sources in it
CONTROL, CLOCK, EVENTS = "headway-control", "headway-clock", "headway-ad-events"
CHECKPOINTS, EXTENSIONS = "headway.LocalCheckpoints", "headway.Extensions"
JAR = Path(__file__).parent / "headway.jar"
SOURCES = sorted((Path(__file__).parent / "headway").glob("*.java"))


def digest() -> str:
    """What the sources are, in one word."""
    return hashlib.sha256(b"".join(source.read_bytes() for source in SOURCES)).hexdigest()


def present(spark: Any) -> bool:
    """Whether this session's JVM has the jar."""
    return in_jvm(spark._jvm)


def in_jvm(running: Any) -> bool:
    """Whether a JVM has it."""
    from py4j.java_gateway import JavaClass

    return isinstance(running.headway.Control, JavaClass)


def send(spark: Any) -> None:
    """To the executors of a cluster, if only the driver was given the jar: by its class path, say. Once is enough."""
    context = spark.sparkContext
    if not context.master.startswith("local") and JAR.name not in context._jsc.sc().listJars().mkString(","):
        context._jsc.addJar(str(JAR))
