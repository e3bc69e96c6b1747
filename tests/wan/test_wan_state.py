"""`headway bench wan-state`: state crosses a shaped link whole, as fast as that is; and then only what has changed."""

from pathlib import Path

import pytest

from headway.wan import testbed
from headway_lab.experiments.wan_state import checkpoint
from headway_lab.experiments.wan_state.run import StateCase, different, play

why = testbed.unavailable()


@pytest.mark.skipif(why is not None, reason=f"needs network namespaces: {why}")
def test_state_crosses_a_link_whole_and_no_faster_than_it_is(tmp_path: Path) -> None:
    case = StateCase(megabytes=4, mbit=(16, 2), changed=0.25)
    pulled, chosen = play(case, 2, tmp_path, lambda text: None)
    assert pulled.wrong == 0 and pulled.compressed < 0.8
    # A limit is a lower bound of the time, whatever else the machine does; the first bytes come at once.
    assert pulled.time_ratio > 0.85 and pulled.wire_mb > pulled.sent_mb
    assert 0 < pulled.again_mb < 0.5 * pulled.sent_mb
    assert chosen["network-aware"].target == "target-0" and chosen["random"].target in case.targets
    assert chosen["network-aware"].expected_s > 0
    assert not list(tmp_path.glob("target-*")), "what was pulled is not kept"


def test_what_changes_is_as_much_as_told_and_a_difference_is_seen(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        checkpoint.written(folder, 1, 8)
    assert different(one, other) == 0
    assert checkpoint.changed(one, 1, 0.25) == 2
    assert different(one, other) == 2 + 2 + 1, "two are gone, two are new, and one more batch is committed"
    (other / "offsets" / "3").write_text("{}")
    assert different(one, other) == 6
