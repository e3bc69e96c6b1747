"""One Spark session for all tests that need it."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Deterministic and without deadlines: these machines are shared, and a slow example is not a wrong one.
settings.register_profile("headway", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fast", settings.get_profile("headway"), max_examples=20)  # `make fast`
settings.load_profile("headway")


SERVERS = {"spark", "kafka", "hdfs", "zookeeper"}  # fixtures
# What takes longest goes first, so that no worker of `pytest -n` is left alone with it in the end. Chaos is not long: it
# stops the session that it has made, which must not be the one that others share.
FIRST = (
    "test_fleet_of_spark", "test_chaos", "test_cluster", "test_node_moves", "test_delta", "test_remote_lease",
    "test_supervision", "test_late", "test_promises", "test_live",
)  # fmt: skip
# These JVMs live for minutes at most: what the second compiler finds out about them, it finds out too late.
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--without-kafka", action="store_true", help="leave out what needs Kafka, whose jars are not fetched then"
    )


def pytest_configure(config: pytest.Config) -> None:
    """For all Sparks that tests start, in this process and in others. And workers need their cores: numpy takes one each."""
    os.environ |= {"SPARK_SUBMIT_OPTS": BRIEF, "SPARK_LAUNCHER_OPTS": BRIEF, "OPENBLAS_NUM_THREADS": "1"}


@pytest.hookimpl(tryfirst=True)  # before `-m` asks for marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        needs = SERVERS & set(getattr(item, "fixturenames", ()))
        for mark in ["spark"] * bool(needs) + ["kafka"] * ("kafka" in needs):
            item.add_marker(mark)
        if config.getoption("--without-kafka") and item.get_closest_marker("kafka"):
            item.add_marker(pytest.mark.skip("--without-kafka"))
        if (core := item.get_closest_marker("core")) is not None:  # for `tools/matrix.py`
            values = getattr(getattr(item, "callspec", None), "params", {}).values()
            channel = core.kwargs.get("channel", "python" if "python" in values else "jar")
            item.user_properties += [("promise", core.args[0]), ("channel", channel)]
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    """Those on servers wait much of their time. The others fill it, so they come last."""
    name = item.path.stem
    return FIRST.index(name) if name in FIRST else len(FIRST) + (item.get_closest_marker("spark") is None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """All Spark sessions of a process share its first JVM, and its classes: if one test needs Kafka, it must know Kafka."""
    if _with_kafka(session):
        from headway.kafka.jars import connector

        jars = os.pathsep.join(map(str, connector()))
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-class-path {jars} pyspark-shell"


def _with_kafka(session: pytest.Session) -> bool:
    return not session.config.getoption("--without-kafka") and any(map(_reads_kafka, session.items))


def _reads_kafka(item: pytest.Item) -> bool:
    return item.get_closest_marker("kafka") is not None and "spark" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[Any]:
    import headway as hw
    from headway.spark.profile import Profile
    from headway_lab.harness.setting import POOLS
    from headway_lab.jvm import JAR

    pools: dict[str, Any] = {**POOLS}
    session = hw.session("headway-tests", memory="2g", kafka=_with_kafka(request.session), jars=[JAR], **pools)
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


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[Any]:
    """A real ZooKeeper, on loopback, that ends with the tests. It has an `address`."""
    from fleet.trees import RunningZooKeeper

    running = RunningZooKeeper()
    yield running
    running.stop()
