"""Bandwidth by transfers and probes, smoothed, with its age."""

import numpy as np
import pytest

from headway.errors import SettingError
from headway.estimate.link import LinkWatch, first_known

TABLE = np.full((3, 3), 1000.0)


def one(value: float, row: int = 0, column: int = 1) -> np.ndarray:
    made = np.zeros((3, 3))
    made[row, column] = value
    return made


def test_a_transfer_that_was_not_held_up_shows_only_that_there_is_at_least_as_much() -> None:
    links = first_known(TABLE)
    links.saw(10_000, one(400.0), one(0.5))
    assert links.bandwidth[0, 1] == 1000 and links.age_ms(10_000)[0, 1] == 10_000
    links.saw(10_000, one(3000.0), one(0.5))
    assert 1000 < links.bandwidth[0, 1] < 3000 and links.age_ms(12_000)[0, 1] == 2_000


def test_one_that_was_held_up_all_the_time_shows_how_much_there_is() -> None:
    links = first_known(TABLE)
    for now in range(40_000, 400_000, 40_000):
        links.saw(now, one(300.0), one(1.0))
    assert links.bandwidth[0, 1] == pytest.approx(300, rel=0.01) and links.bandwidth[1, 0] == 1000


def test_the_older_a_figure_the_less_is_left_of_it() -> None:
    young, old = first_known(TABLE), first_known(TABLE)
    young.saw(1_000, one(200.0), one(1.0))
    old.saw(600_000, one(200.0), one(1.0))
    assert old.bandwidth[0, 1] < 205 < 550 < young.bandwidth[0, 1]


def test_only_stale_links_are_probed_and_no_more_than_the_budget_allows() -> None:
    watch = LinkWatch(stale_ms=60_000, urgent_ms=20_000, probe_bytes=500.0, budget=0.01)
    links = first_known(TABLE, 0, watch)
    assert not links.probes(59_999, 40_000).any()
    asked = links.probes(60_000, 40_000)
    assert asked[0, 1] == 500.0 and not np.diag(asked).any() and asked.sum() == 6 * 500
    assert links.probes(20_000, 40_000, urgent=True).sum() > 0
    links.probed(60_000, asked, np.full((3, 3), 800.0))
    assert links.probed_bytes == 3000 and not links.probes(60_001, 40_000).any() and links.age_ms(61_000)[0, 1] == 1_000
    poor = first_known(TABLE, 0, LinkWatch(stale_ms=1, probe_bytes=1e6, budget=0.001))
    assert not poor.probes(40_000, 40_000).any()  # a link too thin for a probe that says anything, until more is saved


def test_a_link_that_is_down_is_asked_again_and_begins_anew() -> None:
    links = first_known(TABLE)
    links.probed(1_000, one(1.0), one(0.0))
    assert links.bandwidth[0, 1] == 0
    assert links.probes(400_000, 40_000)[0, 1] >= 1
    links.probed(400_000, one(1.0), one(700.0))
    assert links.bandwidth[0, 1] == 700


@pytest.mark.parametrize("setting", [{"weight": 0.0}, {"budget": 1.0}, {"stale_ms": -1}, {"probe_bytes": 0.0}])
def test_settings_that_cannot_be_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(SettingError, match=r"links\."):
        LinkWatch(**setting)  # type: ignore[arg-type]
