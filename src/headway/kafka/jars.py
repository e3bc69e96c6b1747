"""Jars by coordinates: Kafka's broker, and Spark's connector to it. Fetched once, then taken from a cache.

Ivy does the fetching, which PySpark has with it. A house with a repository of its own names an Ivy settings file in
HEADWAY_IVY; without one, Ivy asks the public repository.
"""

import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headway.errors import HeadwayError, aloud

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
        with _alone(cache() / f"{bundle.name}.lock"):
            if not folder.is_dir():  # somebody else has fetched them while we waited
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
    """As it is published with every Spark, with all that it names; what Spark has itself is left out afterwards."""
    return Bundle(
        f"spark-kafka-{scala}-{spark}", (f"org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark}",), transitive=True
    )


def installed() -> tuple[str, str]:
    """The versions of Scala and Spark, by PySpark's own jars: to import it would take a second."""
    for jar in _spark_jars("spark-core_*.jar"):
        scala, _, spark = jar.stem.removeprefix("spark-core_").partition("-")
        return scala, spark
    raise HeadwayError("no Spark among PySpark's jars: pip install 'pyspark>=4.3' brings it")


def cached(bundle: Bundle) -> bool:
    return (cache() / bundle.name).is_dir()


def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headway"


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Two at once would fetch everything twice."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


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
    found = _spark_jars("ivy-*.jar")
    if not found:
        raise HeadwayError("no Ivy among PySpark's jars: pip install 'pyspark>=4,<5' brings it")
    return found[-1]


def _spark_jars(pattern: str) -> list[Path]:
    spark = importlib.util.find_spec("pyspark")
    return sorted(Path(spark.origin).parent.glob(f"jars/{pattern}")) if spark is not None and spark.origin else []


def _of_spark() -> set[str]:
    return {_artifact(jar) for jar in _spark_jars("*.jar")}


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


def java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not java or not os.path.exists(java):
        raise HeadwayError("no Java found: install Java 17 or later and put it on PATH, or set JAVA_HOME")
    return java
