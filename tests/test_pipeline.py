"""Pipeline files: what `headway run FILE.py` finds in them."""

from pathlib import Path

import pytest

from headway import pipeline
from headway.errors import HeadwayError


def written(folder: Path, text: str, name: str = "a_pipeline_of_ours.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_marked_functions_are_found_in_order_with_their_settings(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
import headway as hw

@hw.query()
def campaigns(rt, spark):
    return ("campaigns", rt, spark)

@hw.query("alerts", every="1 s", checkpoint="/tmp/x")
def whatever(rt, spark):
    return "alerts"

def helper():
    pass
""",
    )
    first, second = pipeline.load(path)
    assert (first.name, first.settings) == ("campaigns", {})
    assert first.build("rt", "spark") == ("campaigns", "rt", "spark")
    assert (second.name, second.settings) == ("alerts", {"every": "1 s", "checkpoint": "/tmp/x"})


def test_the_mark_leaves_the_function_as_it_is() -> None:
    def build(rt: object, spark: object) -> str:
        return "built"

    assert pipeline.query("x")(build) is build


def test_a_second_file_does_not_inherit_the_first_ones_queries(tmp_path: Path) -> None:
    text = "import headway as hw\n@hw.query()\ndef {}(rt, spark): ...\n"
    assert [q.name for q in pipeline.load(written(tmp_path, text.format("a"), "one_of_ours.py"))] == ["a"]
    assert [q.name for q in pipeline.load(written(tmp_path, text.format("b"), "two_of_ours.py"))] == ["b"]


def test_a_file_may_hold_dataclasses(tmp_path: Path) -> None:
    text = """
from __future__ import annotations
from dataclasses import dataclass
import headway as hw

@dataclass
class Setting:
    rows: int = 5

@hw.query()
def q(rt, spark):
    return Setting().rows
"""
    (found,) = pipeline.load(written(tmp_path, text))
    assert found.build(None, None) == 5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\n", "expected at least one function marked with @headway.query"),
        ("def broken(:\n    pass\n", "line 1 is not Python: "),
        ("import headway as hw\n" + "@hw.query('a')\ndef f(rt, spark): ...\n" * 2, "query name 'a' is used twice"),
    ],
)
def test_a_file_that_cannot_work_is_refused_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(HeadwayError) as error:
        pipeline.load(path)
    assert str(error.value).startswith(f"pipeline = {str(path)!r}: {says}") and "\n" not in str(error.value)


def test_what_is_no_python_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.py", tmp_path, written(tmp_path, "x = 1", "notes.txt")):
        with pytest.raises(HeadwayError, match=r"^pipeline = '.*': expected a Python file$"):
            pipeline.load(path)


def test_a_bug_in_the_file_keeps_its_traceback(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        pipeline.load(written(tmp_path, "1 / 0\n"))


def test_names_can_be_read_without_running_the_file(tmp_path: Path) -> None:
    text = """
import headway as hw
from headway import query
raise RuntimeError("nobody runs this")

@hw.query("first", restart=2)
def one(rt, spark): ...

@query(name="second")
def two(rt, spark): ...

@hw.query(restart=1)
def third(rt, spark): ...

@other.cache
def not_a_query(): ...
"""
    assert pipeline.declared(written(tmp_path, text)) == ["first", "second", "third"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\n", "expected at least one function marked with @headway.query"),
        ("@hw.query('a')\ndef f(): ...\n" * 2, "query name 'a' is used twice"),
        ("@hw.query(f'{x}')\ndef f(): ...\n", "a name written out in the file, or --query NAME"),
    ],
)
def test_names_that_cannot_be_read_are_refused_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(HeadwayError) as error:
        pipeline.declared(written(tmp_path, text))
    assert says in str(error.value) and "\n" not in str(error.value)
