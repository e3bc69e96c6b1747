"""The identity of a line: when it is the same one again."""

from headway.model.line import Incarnation, LineId

STARTED = LineId("q1", "cp", Incarnation("r1", token=5))


def test_a_line_comes_back_by_its_query_and_its_run_whatever_it_knows_of_lease_and_checkpoint() -> None:
    assert STARTED.comes_back_as(LineId("q1", "file:/checkpoints/q", Incarnation("r1")))
    assert not STARTED.comes_back_as(LineId("q1", "cp", Incarnation("r2", token=5)))
    assert not STARTED.comes_back_as(LineId("q2", "cp", Incarnation("r1", token=5)))


def test_the_checkpoint_is_named_as_spark_names_it_once_the_source_has_said_so() -> None:
    assert STARTED.found_at("file:/checkpoints/q").checkpoint == "file:/checkpoints/q"
    assert STARTED.found_at(None) == STARTED


def test_a_life_is_told_with_its_lease_where_there_is_one() -> None:
    assert (str(STARTED.incarnation), str(Incarnation("r2"))) == ("run r1 with lease 5", "run r2")
