"""Nodes of the papers' engine know of one another what they were told, and not before they were told it."""

from dataclasses import replace

import numpy as np

from headway.model.time import EventMs
from headway.sim.bulletins import Bulletins, Messages
from headway.sim.delays import Uniform
from headway.sim.node import Node
from headway.sim.operators import Engine, EngineLoad
from headway.sim.pipelines import ysb
from headway_lab.experiments.simulator.paper import ORDERS


def engine(messages: Messages, nodes: int = 2, queries: int = 16) -> Engine:
    load = EngineLoad(replace(ysb(), events_per_s=5_000), queries, Uniform(0, 500))
    return Engine(load, replace(ORDERS["klink"], messages=messages), machine=Node(cores=2), nodes=nodes)


def test_a_status_is_known_when_it_has_arrived_and_not_before() -> None:
    one = engine(Messages())
    swept = [EventMs(0)] * one.queues.n
    told = Bulletins.silent(Messages(every_ms=1_000, travel_ms=300), one.queues, swept, 1)
    one.queues.queue[0, 1] = 7.0
    assert not told.tell(120, one.queues, swept, one.watermarks)
    assert told.known.queue[0, 1] == 0.0
    one.queues.queue[0, 1] = 9.0
    assert told.tell(480, one.queues, swept, one.watermarks)
    assert (told.known.at, told.known.queue[0, 1]) == (120, 7.0)
    assert not told.tell(960, one.queues, swept, one.watermarks)


def test_a_node_alone_is_told_nothing() -> None:
    one = engine(Messages(none=True))
    one.run(20, warm_s=0)
    assert one.views._bulletins.known.at == 0


def first_node(one: Engine) -> int:
    """Where the source of the first query is."""
    return next(n for n, here in enumerate(one.layout.here) if here[0, 0])


def test_what_waits_behind_a_node_counts_as_it_was_told_and_what_waits_in_front_does_not() -> None:
    one = engine(Messages(every_ms=1_000, travel_ms=0))
    source, sink = first_node(one), 1 - first_node(one)
    last = one.queues.k - 1
    one.queues.queue[0, last] = 1_000.0
    assert one.views._waiting_ms(0, source) == 0.0
    assert one.views._waiting_ms(0, sink) > 0.0
    one.views.cycle_ends(120)
    assert one.views._waiting_ms(0, source) == one.views._waiting_ms(0, sink) > 0.0
    one.queues.queue[0, last] = 0.0
    one.queues.queue[0, 0] = 50.0
    assert one.views._waiting_ms(0, sink) == 0.0
    assert one.views._waiting_ms(0, source) > 0.0


def test_the_node_of_the_source_knows_the_delays_at_once_and_the_others_when_they_are_told() -> None:
    one = engine(Messages(every_ms=10_000_000, travel_ms=0))
    one.run(60, warm_s=0)
    known = {node: one.views.queries(node)[0].inputs[0].delay for node in (0, 1)}
    source = first_node(one)
    assert known[source] is not None and known[1 - source] is None


def test_a_node_in_the_middle_knows_by_itself_which_watermarks_have_passed_it() -> None:
    one = engine(Messages(none=True), queries=2)
    one.run(60, warm_s=0)
    swept = {node: one.views.queries(node)[0].swept for node in (0, 1)}
    assert min(swept.values()) > 60_000 - 6_000


def test_on_one_node_messages_change_nothing() -> None:
    one, other = (engine(m, nodes=1).run(40, warm_s=10).latencies_ms for m in (Messages(), Messages(none=True)))
    assert one == other and np.mean(one) > 0
