"""Jars by coordinates: Kafka's broker, and Spark's connector to it. Fetched once, then taken from a cache.

Ivy does the fetching, which PySpark has with it. A house with a repository of its own names an Ivy settings file in
HEADWAY_IVY; without one, Ivy asks the public repository.
"""

import os
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from headway.errors import HeadwayError, aloud
from headway.java import java, spark_jars
from headway.servers.process import alone

ASK_AGAIN_S = 86_400


@dataclass(frozen=True, slots=True)
class Bundle:
    """Jars that belong together."""

    name: str
    coordinates: tuple[str, ...]
    transitive: bool  # with all that they need; else just these


BROKER = Bundle(
    "kafka-broker-4.3.1",
    ("org.apache.kafka:kafka_2.13:4.3.1", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"),
    transitive=True,
)
# For a Spark whose own connector is not to be had: this one runs on 4.2 and 4.3. What else it needs, Spark has.
FALLBACK = Bundle(
    "spark-kafka-4.2.0",
    (
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1",
        "org.apache.kafka:kafka-clients:3.9.2",
        "org.apache.commons:commons-pool2:2.13.1",
    ),
    transitive=False,
)


def fetched(bundle: Bundle) -> list[Path]:
    """The bundle's jars on this machine. The first call fetches them, which takes up to a minute."""
    folder = cache() / bundle.name
    if not folder.is_dir():
        cache().mkdir(parents=True, exist_ok=True)
        with alone(cache() / f"{bundle.name}.lock"):
            if not folder.is_dir():  # another process has fetched them while we waited
                _fetch(bundle, folder)
    return sorted(folder.glob("*.jar"))


def connector() -> list[Path]:
    """Spark's connector to Kafka, of the very Spark that is installed; if that is not to be had, another that runs with it.

    Whether it is there by now is asked once a day: asking takes seconds.
    """
    scala, spark = installed()
    own = own_connector(scala, spark)
    asked = cache() / f"{own.name}.missing"
    if cached(own) or not _of_today(asked):
        try:
            return [jar for jar in fetched(own) if _artifact(jar) not in _of_spark()]
        except HeadwayError:
            jars = fetched(FALLBACK)  # if this is not to be had either, nothing is written down
            asked.touch()
    else:
        jars = fetched(FALLBACK)
    _say_once(f"Spark's connector to Kafka is not to be had for Spark {spark}: {FALLBACK.coordinates[0]} is used instead")
    return jars


def own_connector(scala: str, spark: str) -> Bundle:
    """As it is published with every Spark, with all its dependencies; those that Spark has itself are left out later."""
    return Bundle(
        f"spark-kafka-{scala}-{spark}", (f"org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark}",), transitive=True
    )


def installed() -> tuple[str, str]:
    """The versions of Scala and Spark, by PySpark's own jars: to import it would take a second."""
    for jar in spark_jars("spark-core_*.jar"):
        scala, _, spark = jar.stem.removeprefix("spark-core_").partition("-")
        return scala, spark
    raise HeadwayError("no Spark among PySpark's jars: pip install 'pyspark>=4.3' brings it")


def cached(bundle: Bundle) -> bool:
    return (cache() / bundle.name).is_dir()


def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headway"


def _fetch(bundle: Bundle, folder: Path) -> None:
    """All or nothing: the folder appears when everything is in it."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{bundle.name}-") as place:
        wanted = Path(place, "ivy.xml")
        wanted.write_text(_module(bundle))
        settings = os.environ.get("HEADWAY_IVY")
        command = [
            java(), "-jar", str(_ivy()), "-warn", *(["-settings", settings] if settings else []),
            "-cache", str(folder.parent / "ivy"), "-ivy", str(wanted), "-confs", "default",
            "-retrieve", f"{place}/jars/[artifact]-[revision](-[classifier]).[ext]",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not list(Path(place, "jars").glob("*.jar")):
            said = next((line.strip() for line in done.stdout.splitlines() if "not found" in line or "ERROR" in line), "")
            raise HeadwayError(
                f"{', '.join(bundle.coordinates)}: neither in {folder} nor to be had from a repository"
                f"{f' ({said})' if said else ''}: connect once, or name an Ivy settings file in HEADWAY_IVY"
            )
        os.replace(Path(place, "jars"), folder)


def _module(bundle: Bundle) -> str:
    whole = "default" if bundle.transitive else "master"
    wanted = "".join(
        f'<dependency org="{org}" name="{name}" rev="{rev}" conf="default->{whole}"/>'
        for org, name, rev in (c.split(":") for c in bundle.coordinates)
    )
    return (
        '<ivy-module version="2.0"><info organisation="headway" module="jars"/>'
        f'<configurations><conf name="default"/></configurations><dependencies>{wanted}</dependencies></ivy-module>'
    )


def _ivy() -> Path:
    found = spark_jars("ivy-*.jar")
    if not found:
        raise HeadwayError("no Ivy among PySpark's jars: pip install 'pyspark>=4,<5' brings it")
    return found[-1]


def _of_spark() -> set[str]:
    return {_artifact(jar) for jar in spark_jars("*.jar")}


def _artifact(jar: Path) -> str:
    """Without its version: two versions of one thing must not be on one class path."""
    return re.split(r"-(?=\d)", jar.stem, maxsplit=1)[0]


def _of_today(note: Path) -> bool:
    try:
        return time.time() - note.stat().st_mtime < ASK_AGAIN_S
    except OSError:
        return False


_said: set[str] = set()


def _say_once(text: str) -> None:
    if text not in _said:
        _said.add(text)
        aloud(text)
