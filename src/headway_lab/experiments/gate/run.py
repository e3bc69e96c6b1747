"""What merging costs: reading a gate with 1 to 8 threads (claim S1), and a window join parted over cores (claim S2).

Readers of S1 do nothing but read. Writers and readers take turns in rounds, so that gates are neither empty nor ever fuller;
only the readers' own turns are timed. In Python one thread runs at a time, so S2 parts the work by area over processes, each
with a gate of its own; threads are measured beside them to show the difference.
"""

import multiprocessing
import queue
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from statistics import median
from time import perf_counter, thread_time
from typing import Any, Literal

import numpy as np

from headway.merge.k_slack import KSlack
from headway.merge.rows import Ints, MergeGate, Rows
from headway.merge.scale_gate import ScaleGate
from headway.merge.slack_gate import SlackScaleGate

READ, JOIN = "gate-read", "gate-join"
WRITERS = 2
LAG_MS = 80  # at most, of a writer at the end of a round
PER_MS = 1  # tuples of each writer
Calls = Literal["one", "many"]
CALLS: tuple[Calls, ...] = ("one", "many")

GATES: dict[str, Callable[[int, int], MergeGate]] = {
    "slack-gate": lambda readers, slt_ms: SlackScaleGate(WRITERS, readers, slt_ms),
    "scale-gate": lambda readers, slt_ms: ScaleGate(WRITERS, readers),
    "k-slack": lambda readers, slt_ms: KSlack(slt_ms, readers),
}


def rounds(seed: int, tuples: int, size: int) -> Iterator[list[tuple[Ints, Ints]]]:
    """What each writer writes in each round, about `size` tuples: timestamps, and as payload a number below a million."""
    chance = np.random.default_rng(seed)
    stamps = [np.sort(chance.integers(0, tuples // PER_MS, tuples)) for _ in range(WRITERS)]
    payloads = [chance.integers(0, 1_000_000, tuples) for _ in range(WRITERS)]
    start = [0] * WRITERS
    for end in range(size, tuples + size, size):
        reached = [end / PER_MS - chance.integers(0, LAG_MS) if end < tuples else inf for _ in range(WRITERS)]
        stop = [max(a, int(np.searchsorted(s, at))) for a, s, at in zip(start, stamps, reached, strict=True)]
        yield [(stamps[w][start[w] : stop[w]], payloads[w][start[w] : stop[w]]) for w in range(WRITERS)]
        start = stop


# ---- S1: readers that do nothing but read


@dataclass(frozen=True)
class ReadCase:
    """How a gate is read."""

    readers: int
    calls: Calls
    tuples: int = 20_000  # of each writer
    round: int = 500  # tuples of each writer between two reads
    slt_ms: int = 50  # for K-slack it is K


def read(gate: str, case: ReadCase, seed: int) -> dict[str, float]:
    """One run: what a tuple costs a reader, by the wall and by its own processor time, and what goes through one core."""
    into, todo = GATES[gate](case.readers, case.slt_ms), list(rounds(seed, case.tuples, case.round))
    written, drained = threading.Barrier(case.readers + 1), threading.Barrier(case.readers + 1)
    spent = [(0, 0.0, 0.0)] * case.readers

    def reader(number: int) -> None:
        count, wall, cpu = 0, 0.0, 0.0
        for _ in todo:
            written.wait()
            began, began_cpu = perf_counter(), thread_time()
            count += _drain(into, number, case.calls)
            wall, cpu = wall + perf_counter() - began, cpu + thread_time() - began_cpu
            drained.wait()
        spent[number] = (count, wall, cpu)

    threads = [threading.Thread(target=reader, args=(n,), daemon=True) for n in range(case.readers)]
    for thread in threads:
        thread.start()
    inserting = 0.0
    for one in todo:
        began = thread_time()
        _fill(into, one, case.calls)
        inserting += thread_time() - began
        written.wait()
        drained.wait()
    for thread in threads:
        thread.join()
    count, wall, cpu = (sum(column) for column in zip(*spent, strict=True))
    return {
        "read_ns": wall / count * 1e9,
        "cpu_ns": cpu / count * 1e9,
        "insert_ns": inserting / (WRITERS * case.tuples) * 1e9,
        "tuples_per_s": WRITERS * case.tuples / (inserting + cpu),
    }


def read_in_turns(gates: list[str], case: ReadCase, seed: int, turns: int) -> dict[str, dict[str, float]]:
    """All gates one after the other, so many times; of each figure the median."""
    runs = [{gate: read(gate, case, seed) for gate in gates} for _ in range(turns)]
    return {gate: {name: round(median(run[gate][name] for run in runs), 1) for name in runs[0][gate]} for gate in gates}


def _fill(gate: MergeGate, one: list[tuple[Ints, Ints]], calls: Calls) -> None:
    for writer, (stamps, payloads) in enumerate(one):
        if calls == "many":
            gate.insert_many(stamps, payloads, writer)
        else:
            for item in zip(stamps.tolist(), payloads.tolist(), strict=True):
                gate.insert(item, writer)


def _drain(gate: MergeGate, reader: int, calls: Calls) -> int:
    if calls == "many":
        return len(gate.get_many(reader))
    count = 0
    while gate.get(reader) is not None:
        count += 1
    return count


# ---- S2: a join of both streams per area, over the tuples of a sliding window


@dataclass(frozen=True)
class JoinCase:
    """A load: as in the paper, 1,000 tuples a second of each writer and a window of five seconds."""

    tuples: int = 60_000  # of each writer
    areas: int = 100
    window_ms: int = 5_000
    round: int = 500
    slt_ms: int = 1_000  # more than writers lag, so that however the work is parted the results are the same


class WindowJoin:
    """Compares each tuple with those of the other stream in the same area and window; a pair over a limit is an event."""

    def __init__(self, case: JoinCase) -> None:
        self._case = case
        self._windows: list[defaultdict[int, deque[tuple[int, int]]]] = [defaultdict(deque) for _ in range(WRITERS)]
        self.tuples = self.comparisons = self.events = 0

    def feed(self, rows: Rows) -> None:
        columns = (rows.timestamps.tolist(), rows.writers.tolist(), rows.payloads.tolist())
        for stamp, writer, payload in zip(*columns, strict=True):
            area, value = _area(payload, self._case), payload % 1_000
            others = self._windows[1 - writer][area]
            while others and others[0][0] < stamp - self._case.window_ms:
                others.popleft()
            self.comparisons += len(others)
            self.events += sum([value + other > EVENT for _, other in others])
            self._windows[writer][area].append((stamp, value))
        self.tuples += len(rows)


EVENT = 1_950  # of two values below 1,000: one pair in eight hundred


def _area(payload: Any, case: JoinCase) -> Any:
    """A number's area, or those of many numbers."""
    return payload // 1_000 % case.areas


def join_part(part: int, parts: int, case: JoinCase, seed: int, start: Any, out: Any) -> None:
    """Join the areas of one part, beginning together with the others; when it began and ended, and what was done."""
    todo = []
    for one in rounds(seed, case.tuples, case.round):
        mine = [_area(payloads, case) % parts == part for _, payloads in one]
        todo.append([(stamps[own], payloads[own]) for (stamps, payloads), own in zip(one, mine, strict=True)])
    gate, join = SlackScaleGate(WRITERS, 1, case.slt_ms), WindowJoin(case)
    start.wait(PATIENCE_S)
    began, began_cpu = perf_counter(), thread_time()
    for one in todo:
        _fill(gate, one, "many")
        join.feed(gate.get_many(0))
    for writer in range(WRITERS):
        gate.insert((case.tuples, None), writer)  # after all others, so that they are ready; the first writer's leaves too
    join.feed(gate.get_many(0)[slice(-1)])
    spent = thread_time() - began_cpu
    out.put((began, perf_counter(), spent, join.tuples, join.comparisons, join.events))


PATIENCE_S = 120.0


def join(way: Literal["process", "thread"], parts: int, case: JoinCase, seed: int) -> dict[str, float]:
    """Both streams joined by so many processes or threads: what was done a second, from the first start to the last end."""
    spawn = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    made: dict[str, tuple[Any, Any, Any]] = {
        "process": (spawn.Process, spawn.Barrier, spawn.Queue),
        "thread": (threading.Thread, threading.Barrier, queue.Queue),
    }
    worker_of, barrier_of, queue_of = made[way]
    start, out = barrier_of(parts), queue_of()
    workers = [worker_of(target=join_part, args=(part, parts, case, seed, start, out), daemon=True) for part in range(parts)]
    for worker in workers:
        worker.start()
    began, ended, *done = zip(*(out.get(timeout=PATIENCE_S) for _ in workers), strict=True)
    for worker in workers:
        worker.join()
    cpu_s, tuples, comparisons, events = (sum(column) for column in done)
    took = max(ended) - min(began)
    return {
        "tuples_per_s": round(tuples / took, 1),
        "comparisons_per_s": round(comparisons / took, 1),
        "cpu_s": round(cpu_s, 4),  # of all parts: where it does not grow but the rate does not double, cores were not free
        "tuples": tuples,
        "comparisons": comparisons,
        "events": events,
    }


def workers_text(way: str, parts: int) -> str:
    """`1 process`, `2 processes`, `2 threads`."""
    return f"{parts} {way}" if parts == 1 else f"{parts} {way}{'es' if way.endswith('s') else 's'}"
