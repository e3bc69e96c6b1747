"""One Spark session for all tests that need it."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Deterministic and without deadlines: these machines are shared, and a slow example is not a wrong one.
settings.register_profile("headway", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("headway")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without-kafka", action="store_true", help="for tests that need no connector to Kafka")


def pytest_configure(config: pytest.Config) -> None:
    """All sessions of a process share its first JVM, and its classes: whoever starts it, it must know Kafka."""
    from headway.kafka.jars import connector

    if not config.getoption("--without-kafka"):
        jars = os.pathsep.join(map(str, connector()))
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-class-path {jars} pyspark-shell"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that make a session of their own stop it when they are done: they come before those that share one."""
    items.sort(key=lambda item: "spark" in getattr(item, "fixturenames", ()))
    for item in items:
        if (core := item.get_closest_marker("core")) is not None:  # for `tools/matrix.py`
            given = getattr(getattr(item, "callspec", None), "params", {}).values()
            channel = core.kwargs.get("channel", "python" if "python" in given else "jar")
            item.user_properties += [("promise", core.args[0]), ("channel", channel)]


@pytest.fixture(scope="session")
def spark(pytestconfig: pytest.Config) -> Iterator[Any]:
    import headway as hw
    from headway.bench.experiment import POOLS
    from headway.spark.profile import Profile

    session = hw.session("headway-tests", memory="2g", kafka=not pytestconfig.getoption("--without-kafka"), **POOLS)
    for key, value in Profile().settings.items():  # for stock Spark too, which is run beside: 200 tasks a batch take long
        session.conf.set(key, value)
    yield session
    session.stop()


@pytest.fixture
def java_err(spark: Any) -> Iterator[Callable[[], str]]:
    """What the JVM has written to its error output during this test; pytest's own capture does not see another process."""
    java = spark._jvm.java
    heard, before = java.io.ByteArrayOutputStream(), java.lang.System.err
    java.lang.System.setErr(java.io.PrintStream(heard, True))
    yield heard.toString
    java.lang.System.setErr(before)


@pytest.fixture(scope="session")
def kafka() -> Iterator[str]:
    """The address of a real broker, on loopback, that ends with the tests."""
    from headway.kafka import broker

    running = broker.start()
    yield running.address
    running.stop()


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real HDFS, on loopback, that ends with the tests."""
    from hdfs_cluster import Hdfs

    running = Hdfs(tmp_path_factory.mktemp("hdfs"))
    yield running.address
    running.stop()
