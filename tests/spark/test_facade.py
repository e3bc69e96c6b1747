"""The runtime is what users read first: few calls, each with its own words. None of this needs a session."""

import inspect
from typing import Any

import pytest

from headway.spark.runtime import Runtime

CALLS = [name for name, found in vars(Runtime).items() if callable(found) or isinstance(found, property)]


def test_there_are_no_more_than_fifteen_calls() -> None:
    assert len(CALLS) <= 15


@pytest.mark.parametrize("name", [name for name in CALLS if not name.startswith("_")])
def test_every_call_says_what_it_does_and_names_its_settings(name: str) -> None:
    found: Any = inspect.getattr_static(Runtime, name)
    assert inspect.getdoc(found)
    if isinstance(found, property):
        return
    assert found.__module__ == Runtime.__module__, "its signature stands where users look for it"
    parameters = [p for p in inspect.signature(found).parameters.values() if p.name != "self"]
    assert all(p.annotation is not p.empty for p in parameters)


def test_the_policy_is_exchanged_by_a_message_and_not_by_an_assignment() -> None:
    assert isinstance(inspect.getattr_static(Runtime, "order"), property) and Runtime.order.fset is None  # type: ignore[attr-defined]
