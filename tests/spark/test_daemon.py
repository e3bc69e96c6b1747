"""Python workers put aside what they have loaded, and find garbage all the same."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from headway.spark.daemon import FreezingCollector


@pytest.fixture
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


class Knows:
    """One of a circle."""

    other: "Knows"


def circle() -> "weakref.ref[Knows]":
    one, two = Knows(), Knows()
    one.other, two.other = two, one
    return weakref.ref(one)


def test_much_is_put_aside_and_garbage_is_still_found(thawed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.spark.daemon.SLOW_S", 0.0)
    aside = FreezingCollector(left=1)
    aside.collect()
    put = gc.get_freeze_count()
    assert put > 1_000
    lost = circle()
    assert lost() is not None
    aside.collect()
    assert lost() is None
    assert aside.left == 0
    assert gc.get_freeze_count() <= put  # once was told, so once it is


def test_little_is_not_put_aside(thawed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.spark.daemon.SLOW_S", 3600.0)
    aside = FreezingCollector()
    before = gc.get_freeze_count()
    aside.collect()
    assert (gc.get_freeze_count(), aside.left) == (before, 5)


@pytest.mark.spark
def test_workers_of_a_session_do_so(spark: Any) -> None:
    def frozen(batches: Any) -> Any:
        import gc

        import pandas as pd

        for _ in batches:
            yield pd.DataFrame({"frozen": [gc.get_freeze_count()]})

    asked = spark.range(0, 1, 1, 1).mapInPandas(frozen, "frozen long")
    counts = [asked.collect()[0].frozen for _ in range(6)]
    assert max(counts) > 10_000  # pandas alone; whether a worker is a new one is Spark's affair
