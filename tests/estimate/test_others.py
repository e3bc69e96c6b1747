"""What others use of nodes: as the nodes measure it, added to rings or multiplied into them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.estimate.interference import Interference
from headway.estimate.others import AMONG_OWN, MOST_HIDDEN, AddedOthers, MultipliedOthers, resources
from headway.estimate.rings import Normalising
from headway.model.arrays import Floats
from headway.model.placement import NodeView
from model.fleets import SMALL, node, nodes, steady

LIMIT, WIRE = 0.5, 0.8


def own(*seen: NodeView) -> Floats:
    return np.stack([one.ring.values for one in seen])


def test_a_unit_is_what_all_measure_of_their_own_use_over_all_their_rings() -> None:
    seen = (node("a", 2.0, cores=4.0, load=0.5, own_load=0.5), node("b", 2.0, cores=4.0, load=0.25, own_load=1.0))
    cores, _ = resources(seen, SMALL, own(*seen), LIMIT, WIRE)
    # 1 core each, for rings of 4 in all: half a core for 1, of 4 cores that may be half full.
    assert cores.unit == pytest.approx([0.5 / 4 / LIMIT] * 2)
    assert cores.others == pytest.approx([0.25 / LIMIT, 0.0])


def test_of_what_others_use_the_more_counts_of_the_last_minute_and_of_the_last_seconds() -> None:
    begun = (node("a", 1.0, load=0.4, own_load=0.75, foreign=2.0), node("b", 1.0, load=0.8, own_load=0.5, foreign=0.1))
    cores, _ = resources(begun, SMALL, own(*begun), LIMIT, WIRE)
    assert cores.others == pytest.approx([2.0 / LIMIT, 0.4 / LIMIT])


def test_a_move_changes_no_unit_although_a_load_average_is_late() -> None:
    before = (node("a", 3.0, load=0.6), node("b", 1.0, load=0.2))
    after = (node("a", 1.0, load=0.6), node("b", 3.0, load=0.2))
    (one, _), (other, _) = (resources(seen, SMALL, own(*seen), LIMIT, WIRE) for seen in (before, after))
    assert one.unit == pytest.approx(other.unit)


def test_what_nobody_has_measured_is_taken_to_be_cores() -> None:
    seen = (node("a", 1.0, cores=2.0, load=0.0), node("b", 0.0, cores=8.0, load=0.3, own_load=0.0))
    cores, _ = resources(seen, SMALL, own(*seen), LIMIT, WIRE)
    assert cores.unit == pytest.approx([1 / (2 * LIMIT), 1 / (8 * LIMIT)])
    assert cores.others == pytest.approx([0, 0.3 / LIMIT])


def test_bandwidth_is_a_resource_of_its_own_where_it_is_used() -> None:
    seen = (node("a", 1.0, bandwidth=0.8, own_bandwidth=0.5), node("b", 1.0, bandwidth=0.4))
    *_, wire = resources(seen, SMALL, own(*seen), LIMIT, WIRE)
    assert wire.unit == pytest.approx([0.4, 0.4]) and wire.others == pytest.approx([0.4, 0.0])


def test_a_full_link_hides_what_is_asked_of_it() -> None:
    """Both nodes want the same; on the second a program that asks for as much leaves half of it."""
    seen = (node("a", 1.0, bandwidth=1.0), node("b", 1.0, bandwidth=1.2, own_bandwidth=0.5))
    *_, wire = resources(seen, SMALL, own(*seen), LIMIT, WIRE)
    assert wire.others[1] == pytest.approx(0.6 * 0.8 / 0.6)
    empty = (node("a", 9.0, bandwidth=1.0), node("b", 9.0, bandwidth=1.2, own_bandwidth=0.01))
    assert resources(empty, SMALL, own(*empty), LIMIT, WIRE)[-1].others[1] == pytest.approx(1.2 * 0.99 * MOST_HIDDEN)


def test_others_count_like_one_more_computation() -> None:
    seen = (node("a", 1.0, load=1.5, own_load=2 / 3), node("b", 1.5, load=1.5))
    machine, among = resources(seen, SMALL, own(*seen), LIMIT, WIRE)
    assert machine.unit[0] * 1.0 + machine.others[0] == pytest.approx(machine.unit[1] * 1.5 + machine.others[1])
    assert not among.others.any() and among.weight == AMONG_OWN < machine.weight


def test_of_nodes_on_one_machine_the_one_with_fewer_computations_of_its_own_is_better() -> None:
    """All measure the same load, and to each the others are others."""
    seen = (node("a", 0.9, load=1.2, own_load=0.75), node("b", 0.3, load=1.2, own_load=0.25))
    there, here = AddedOthers(3, LIMIT, WIRE).of_fleet(seen, SMALL, own(*seen), 0.0, own(node("c", 0.1)))[0]
    assert here < 0.95 * there


def test_what_others_use_may_count_in_the_innermost_ring_only() -> None:
    seen, mine = (node("a", 1.0, load=1.5, own_load=2 / 3),), own(node("c", 0.2))
    alone = (node("a", 1.0, load=1.0),)
    near, everywhere = (
        AddedOthers(3, LIMIT, WIRE, every).of_fleet(seen, SMALL, own(*seen), 0.0, mine) for every in (False, True)
    )
    assert AddedOthers(3, LIMIT, WIRE).of_fleet(alone, SMALL, own(*alone), 0.0, mine) < near < everywhere


def test_as_published_only_the_innermost_ring_is_multiplied_unless_all_are() -> None:
    seen, mine = (node("a", 1.0, load=2.0, own_load=0.25, own_bandwidth=0.0),), own(node("c", 0.2))
    score, normalising = Interference(), Normalising()
    factor = normalising.multiplier(seen[0])
    weighed = own(*seen)
    weighed[:, : SMALL.windows] *= factor
    near, everywhere = (MultipliedOthers(score, normalising, every) for every in (False, True))
    assert near.of_fleet(seen, SMALL, own(*seen), 0.0, mine) == pytest.approx(score.all(SMALL, weighed, mine))
    assert everywhere.of_fleet(seen, SMALL, own(*seen), 0.0, mine) == pytest.approx(
        score.all(SMALL, factor * own(*seen), mine)
    )
    assert near.at_home(seen, SMALL, own(*seen), np.array([0]), mine) is None


@given(st.lists(nodes("n"), min_size=1, max_size=4), st.floats(0.01, 1.0), st.integers(1, 6))
def test_whatever_is_measured_scores_are_numbers_and_at_home_it_is_disturbed_no_more_than_by_one_of_its_kind(
    seen: list[NodeView], use: float, amplifier: int
) -> None:
    mine = steady(use).values[None]
    added = AddedOthers(amplifier, LIMIT, WIRE)
    score = added.of_fleet(seen, SMALL, own(*seen), 0.0, mine)
    assert np.isfinite(score).all() and (score >= 0).all()
    home = added.at_home(seen, SMALL, own(*seen), np.zeros(1, dtype=np.int64), mine)
    assert home is not None and home[0] <= score[0, 0] * (1 + 1e-9) + 1e-12


def test_no_node_is_made_fuller_than_it_can_be_unless_it_comes_from_a_fuller_one() -> None:
    """A hog of a whole core on a, whose link is half full; those of b and c are nearly full, that of d is overfull."""
    seen = (
        node("a", 0.5, load=1.5, own_load=1 / 3, bandwidth=0.5 / WIRE),
        node("b", 0.8, bandwidth=0.8 / WIRE),
        node("c", 0.95, bandwidth=0.95 / WIRE),
        node("d", 1.2, bandwidth=1.2 / WIRE),
    )
    mine = own(node("x", 0.1), node("y", 0.1))
    room = AddedOthers(3, LIMIT, WIRE).room(seen, SMALL, own(*seen), np.array([0, 3]), mine)
    assert room.allowed[0, 1:].tolist() == [True, False, False] and room.allowed[1, :3].tolist() == [False, True, True]
    assert room.relieves[0, 1:].tolist() == [True, False, False] and room.relieves[1, :3].tolist() == [False, True, False]
    as_published = MultipliedOthers(Interference(), Normalising()).room(seen, SMALL, own(*seen), np.array([0, 3]), mine)
    assert as_published.allowed.all() and not as_published.relieves.any()
