"""Records as text and back, whatever is in them, and one line about what cannot be read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.trees import refused
from headway.errors import SettingError
from headway.fleet.records import Shelf, dumps, key_of, loads, node_name
from headway.model.time import WallMs
from tried import tried


class RecordStage(StrEnum):
    ASKED = "asked"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Life:
    epoch: int
    folder: str


@dataclass(frozen=True, slots=True)
class Rich:
    """One of everything that a record may have."""

    name: str
    at: WallMs
    stage: RecordStage = RecordStage.ASKED
    mode: Literal["rollback", "force"] = "rollback"
    here: Life | None = None
    folders: tuple[str, ...] = ()
    pair: tuple[int, float] = (0, 0.0)
    lives: tuple[Life, ...] = ()
    cooling: Mapping[str, WallMs] = field(default_factory=dict)
    ready: bool = True


RICH = Shelf("rich", Rich)
lives = st.builds(Life, epoch=st.integers(0, 10**9), folder=st.text())
numbers = st.floats(allow_nan=False, allow_infinity=False)
records = st.builds(
    Rich,
    name=st.text(),
    at=st.integers(0, 2**53).map(WallMs),
    stage=st.sampled_from(RecordStage),
    mode=st.sampled_from(["rollback", "force"]),
    here=st.none() | lives,
    folders=st.lists(st.text()).map(tuple),
    pair=st.tuples(st.integers(), numbers),
    lives=st.lists(lives).map(tuple),
    cooling=st.dictionaries(st.text(), st.integers(0, 2**53).map(WallMs)),
    ready=st.booleans(),
)


@tried(30)
@given(records, st.integers(0, 10**9))
def test_what_was_written_is_read(record: Rich, epoch: int) -> None:
    assert loads(RICH, dumps(RICH, record, epoch), "here") == (record, epoch)


def test_the_text_is_as_agreed() -> None:
    text = dumps(Shelf("lives", Life, version=3), Life(7, "books/epoch-7"), epoch=4)
    assert text == '{"v":3,"kind":"lives","epoch":4,"is":{"epoch":7,"folder":"books/epoch-7"}}'


def test_a_field_that_was_not_written_takes_its_default() -> None:
    text = '{"v":1,"kind":"rich","epoch":0,"is":{"name":"books","at":5}}'
    assert loads(RICH, text, "here") == (Rich("books", WallMs(5)), 0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "here: not a record of Headway: ''"),
        ("[]", "here: not a record of Headway"),
        ('{"v":2,"kind":"rich","epoch":0,"is":{}}', "version 2 of rich, and this Headway knows version 1: use the version"),
        ('{"v":1,"kind":"poor","epoch":0,"is":{}}', "a record of 'poor', where one of 'rich' was expected"),
        ('{"v":1,"kind":"rich","epoch":0,"is":{"name":"books"}}', "Rich lacks at"),
        ('{"v":1,"kind":"rich","epoch":0,"is":{"name":"books","at":5,"colour":"red"}}', "Rich has no colour"),
        ('{"v":1,"kind":"rich","epoch":0,"is":{"name":"books","at":"five"}}', "'five' is no int"),
        ('{"v":1,"kind":"rich","epoch":0,"is":{"name":"books","at":true}}', "True is no int"),
        ('{"v":1,"kind":"rich","epoch":0,"is":{"name":"books","at":5,"stage":"lost"}}', "'lost' is not a valid RecordStage"),
        ('{"v":1,"kind":"rich","epoch":0,"is":{"name":"books","at":5,"mode":"hope"}}', "'hope' is none of rollback, force"),
        ('{"v":1,"kind":"rich","epoch":0,"is":{"name":"books","at":5,"pair":[1]}}', "not a record of rich, version 1"),
        ('{"v":1,"kind":"rich","epoch":0,"is":7}', "not a record of rich, version 1"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(text: str, says: str) -> None:
    assert says in refused(lambda: loads(RICH, text, "here"))


def test_what_a_record_may_not_have_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError, match="object is nothing that a record may have"):
        dumps(Shelf("odd", Life), Life(object(), ""))  # type: ignore[arg-type]


@given(st.text(min_size=1))
def test_any_text_is_the_name_of_one_node_and_back(key: str) -> None:
    try:
        key.encode()
    except UnicodeEncodeError:
        assert key.encode(errors="replace")  # half a character, which no name has
        return
    name = node_name(key)
    assert "/" not in name and name not in (".", "..") and key_of(name) == key


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(SettingError, match="name = '': expected one that is not empty"):
        node_name("")
