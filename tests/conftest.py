"""One Spark session for all tests that need it."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Deterministic and without deadlines: these machines are shared, and a slow example is not a wrong one.
settings.register_profile("headway", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("headway")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    import headway as hw
    from headway.bench.experiment import POOLS

    session = hw.session("headway-tests", memory="2g", kafka=True, **POOLS)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def kafka() -> Iterator[str]:
    """The address of a real broker, on loopback, that ends with the tests."""
    from headway.kafka import broker

    running = broker.start()
    yield running.address
    running.stop()
