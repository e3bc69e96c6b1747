"""Pages are small, and no task runs out of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.spark.pages import MOST, page_size


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({}, "1m"),
        ({"spark.driver.memory": "6g"}, "1m"),
        ({"spark.driver.memory": "8g"}, "1m"),
        ({"spark.driver.memory": "8193m"}, "2m"),
        ({"spark.driver.memory": "4096"}, "1m"),
        ({"spark.executor.memory": "64g", "spark.driver.memory": "1g"}, "8m"),
        ({"spark.executor.memory": "10g", "spark.memory.offHeap.size": "20g"}, "8m"),
        ({"spark.driver.memory": "plenty"}, "1m"),  # Spark refuses it, in its own words
    ],
)
def test_a_page_is_as_small_as_the_memory_allows(settings: dict[str, str], size: str) -> None:
    assert page_size(settings) == size


@given(driver=st.integers(1, 1 << 20), executor=st.integers(1, 1 << 20), beside=st.integers(0, 1 << 20))
def test_one_task_can_use_all_memory_there_is(driver: int, executor: int, beside: int) -> None:
    settings = {
        "spark.driver.memory": f"{driver}m",
        "spark.executor.memory": f"{executor}m",
        "spark.memory.offHeap.size": f"{beside}m",
    }
    assert int(page_size(settings)[:-1]) * MOST >= max(driver, executor) + beside
