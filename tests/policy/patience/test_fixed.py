import pytest

from headway.errors import SettingError
from headway.policy.patience import Fixed


@pytest.mark.parametrize(("written", "ms"), [("500 ms", 500), ("2 seconds", 2_000), (250, 250), ("0 ms", 0)])
def test_a_fixed_patience_is_a_duration(written: str | int, ms: int) -> None:
    assert Fixed(written).delay_ms == ms


def test_by_default_nobody_waits_for_stragglers() -> None:
    assert Fixed().delay_ms == 0


@pytest.mark.parametrize("written", ["soon", -1, "-5 s", True, None])
def test_a_patience_that_cannot_be_is_refused_when_it_is_written_down(written: object) -> None:
    with pytest.raises(SettingError) as error:
        Fixed(written)  # type: ignore[arg-type]
    assert str(error.value).startswith(f"patience = {written!r}: expected a duration of zero or more")
