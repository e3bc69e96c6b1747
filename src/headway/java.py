"""The Java that Spark would be run with, and the jars that PySpark has brought."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

from headway.errors import HeadwayError

NEEDED = 17


def java() -> str:
    """Its program."""
    found = _java()
    if found is None:
        raise HeadwayError(f"no Java found: install Java {NEEDED} or later and put it on PATH, or set JAVA_HOME")
    return found


def java_version() -> str:
    """What it says of itself; "none" if there is none."""
    found = _java()
    return "none" if found is None else _version(found) or "unknown"


def java_problem() -> str | None:
    """What is wrong with it, in one line; None if nothing is."""
    found = _java()
    if found is None:
        return f"no Java found: install Java {NEEDED} or later and put it on PATH, or set JAVA_HOME"
    major = _version(found).split(".")[0]
    if not major.isdigit() or int(major) < NEEDED:
        return f"Java {major or 'of unknown version'} found at {found}: Spark 4 needs {NEEDED} or later"
    return None


def spark_jars(pattern: str) -> list[Path]:
    """PySpark's own jars whose names are like this; importing PySpark to ask it would take a second."""
    spark = importlib.util.find_spec("pyspark")
    return sorted(Path(spark.origin).parent.glob(f"jars/{pattern}")) if spark is not None and spark.origin else []


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin") if home else None)


def _version(java: str) -> str:
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    return said.partition('version "')[2].partition('"')[0]
