import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import HeadwayError, SettingError
from headway.model.time import SystemClock, VirtualClock, duration_ms


@pytest.mark.parametrize(
    ("written", "ms"),
    [
        ("500 ms", 500),
        ("500ms", 500),
        ("1 millisecond", 1),
        ("3 seconds", 3_000),
        ("3 s", 3_000),
        ("1.5 sec", 1_500),
        ("  2 Minutes ", 120_000),
        ("1 min", 60_000),
        ("1 h", 3_600_000),
        ("2 days", 172_800_000),
        ("0 ms", 0),
        (0, 0),
        (250, 250),
        (250.0, 250),
    ],
)
def test_a_duration_is_read_as_people_write_it(written: object, ms: int) -> None:
    assert duration_ms("patience", written) == ms


@pytest.mark.parametrize(
    "written",
    [
        "",
        "ms",
        "3",
        "three seconds",
        "-3 s",
        "3 parsecs",
        "1e3 ms",
        "3 s 5 ms",
        b"3 s",
        -1,
        -0.5,
        True,
        False,
        None,
        [3],
        float("nan"),
        float("inf"),
        float("-inf"),
    ],
)
def test_what_is_no_duration_is_refused_in_one_line_that_names_key_value_and_way_out(written: object) -> None:
    with pytest.raises(SettingError) as error:
        duration_ms("patience", written)
    text = str(error.value)
    assert text.startswith(f"patience = {written!r}: expected ")
    assert "'3 seconds'" in text and "\n" not in text
    assert isinstance(error.value, HeadwayError)
    assert (error.value.key, error.value.got) == ("patience", written) or written != written


@given(st.integers(0, 10**9))
def test_a_number_and_the_same_number_with_its_unit_are_the_same(ms: int) -> None:
    assert duration_ms("x", ms) == duration_ms("x", f"{ms} ms") == duration_ms("x", float(ms)) == ms


def test_the_virtual_clock_moves_only_when_it_is_told_to() -> None:
    clock = VirtualClock(5)
    assert clock.now() == clock.now() == 5
    clock.advance(7)
    assert clock.now() == 12


def test_the_system_clock_tells_milliseconds_since_1970() -> None:
    assert SystemClock().now() > 1_700_000_000_000
