"""What the tests of the control channel share."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.spark import jvm
from spark.scripted import Stage


@pytest.fixture(params=["jar", "python"])
def stage(spark: Any, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A query whose control source is the Java class, and one whose control source is the Python process."""
    monkeypatch.setattr(jvm, "present", lambda spark: request.param == "jar")
    made = Stage(spark, tmp_path)
    yield made
    made.close()
