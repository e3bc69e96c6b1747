"""What a node tells of itself every second: rates are of the time since it was asked before, and of one life of a query."""

import os
import time
from dataclasses import replace

from fleet.node.memory_host import AT, MemoryHost
from headway.fleet.node.machine import MachineGauge
from headway.fleet.node.reporter import RATES, StatusReporter
from headway.fleet.node.wire import HostedQuery, status_in
from headway.model.time import VirtualClock


def told(*queries: HostedQuery) -> tuple[MemoryHost, VirtualClock, StatusReporter]:
    host, clock = MemoryHost(), VirtualClock(AT)
    host.queries = {query.name: query for query in queries}
    return host, clock, StatusReporter("n1", host, MachineGauge(), 1e6, clock.now)


COUNTS = HostedQuery("counts", 1, "in a batch", AT, rows=1_000)


def test_rates_are_rows_per_second_of_the_time_between_two_looks() -> None:
    host, clock, reporter = told(COUNTS)
    assert reporter.look().queries[0].rates == ()  # before the first look nobody knows when they came
    for rows, ms in ((1_500, 1_000), (1_500, 500), (2_100, 2_000)):
        clock.advance(ms)
        host.queries["counts"] = replace(COUNTS, rows=rows)
        status = reporter.look()
    assert status.queries[0].rates == (500.0, 0.0, 300.0)
    assert status_in(reporter.told.whole) == status and status.bandwidth_limit == 1e6 and status.sequence == 4


def test_another_life_of_a_query_begins_anew() -> None:
    host, clock, reporter = told(COUNTS)
    reporter.look()
    clock.advance(1_000)
    host.queries["counts"] = replace(COUNTS, epoch=2, rows=10)
    assert reporter.look().queries[0].rates == ()
    clock.advance(1_000)
    host.queries["counts"] = replace(COUNTS, epoch=2, rows=30)
    assert reporter.look().queries[0].rates == (20.0,)


def test_no_more_than_a_minute_of_them_is_told() -> None:
    host, clock, reporter = told(COUNTS)
    for n in range(RATES + 20):
        clock.advance(1_000)
        host.queries["counts"] = replace(COUNTS, rows=1_000 + 7 * n)
        status = reporter.look()
    assert status.queries[0].rates == (7.0,) * RATES


def test_the_machine_is_told_in_shares_of_itself() -> None:
    _, _, reporter = told(COUNTS)
    enough = time.process_time() + 0.1  # the system counts hundredths of a second
    while time.process_time() < enough:
        sum(n * n for n in range(10_000))
    machine = reporter.look().machine
    assert machine.cores == os.cpu_count() and 0 < machine.own_load <= 1 and 0 < machine.memory < 1
    assert machine.load_average >= 0 and machine.bandwidth >= 0 and machine.heap == 0.25


def test_the_part_of_the_bandwidth_is_that_of_the_rows() -> None:
    gauge = MachineGauge()
    assert gauge.read(0.0).own_bandwidth == 0.0 and gauge.read(1e18).own_bandwidth in (0.0, 1.0)


def test_who_has_heard_a_status_is_told_the_rates_since_then() -> None:
    host, clock, reporter = told(COUNTS)
    for n in range(5):
        clock.advance(1_000)
        host.queries["counts"] = replace(COUNTS, rows=1_000 + 10 * n * n)
        reporter.look()
    heard = reporter.status.sequence

    def rates(since: int) -> tuple[float, ...]:
        return status_in(reporter.told.since(since)).queries[0].rates

    assert rates(heard - 1) == (70.0,) and rates(heard - 3) == (30.0, 50.0, 70.0)
    assert rates(heard) == (), "the same status again says nothing new"
    assert rates(heard + 5) == rates(heard - 1_000) == (10.0, 30.0, 50.0, 70.0), "of another life of the node, or too old"
    assert replace(status_in(reporter.told.since(heard)), queries=reporter.status.queries) == reporter.status
