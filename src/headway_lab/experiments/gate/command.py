"""`headway bench gate`: what it costs to merge sorted streams, and how a join on it grows with cores (claims S1, S2)."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Literal

import typer
from rich.table import Table

from headway.cli import arguments
from headway_lab.experiments.gate.run import CALLS, GATES, JOIN, READ, JoinCase, ReadCase, join, read_in_turns, workers_text
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger, Record
from headway_lab.harness.options import LedgerOption, at_least
from headway_lab.harness.suite import Spread


def gate(
    readers: Annotated[str, typer.Option(help="Reader threads, with commas between them.")] = "1,2,4,8",
    tuples: Annotated[int, typer.Option(help="Tuples of each of the two writers that are read.")] = ReadCase.tuples,
    joined: Annotated[int, typer.Option(help="Tuples of each of the two writers that are joined.")] = JoinCase.tuples,
    parts: Annotated[str | None, typer.Option(help="Over how many the join is parted; 1, 2, 4.. up to the cores.")] = None,
    turns: Annotated[int, typer.Option(help="Each gate is read so many times a seed, in turns.")] = 3,
    seeds: Annotated[str, typer.Option(help="Seeds.")] = "1,2,3,4,5",
    ledger: LedgerOption = LEDGER,
) -> None:
    """Measure gates read by threads, and a window join over processes; needs no Spark."""
    at_least(1, tuples=tuples, joined=joined, turns=turns)
    threads, numbers, book = arguments.wholes("readers", readers), arguments.wholes("seeds", seeds, least=0), Ledger(ledger)
    cases = [ReadCase(n, calls, tuples) for calls in CALLS for n in threads]
    ways: list[tuple[Literal["process", "thread"], int]] = [("process", n) for n in _parts(parts)]
    ways += [("thread", n) for _, n in ways if n > 1]
    records: list[Record] = []
    with screen.ProgressBar(([float(case.readers) for case in cases] + [4.0] * len(ways)) * len(numbers)) as bar:
        for seed in numbers:
            for case in cases:
                bar.begin(f"{case.readers} readers, {case.calls} a call, seed {seed}")
                for name, figures in read_in_turns(list(GATES), case, seed, turns).items():
                    records.append(book.append(READ, name, asdict(case), seed, figures, kind="no-spark"))
                bar.end()
            for way, n in ways:
                bar.begin(f"join by {workers_text(way, n)}, seed {seed}")
                case_ = JoinCase(joined)
                figures = join(way, n, case_, seed)
                records.append(book.append(JOIN, workers_text(way, n), asdict(case_), seed, figures, kind="no-spark"))
                bar.end()
    screen.out.print(reading([r for r in records if r["experiment"] == READ]))
    screen.out.print(joining([r for r in records if r["experiment"] == JOIN]))


def _parts(text: str | None) -> list[int]:
    if text is not None:
        return arguments.wholes("parts", text)
    cores = os.cpu_count() or 1
    return [n for n in (1, 2, 4, 8, 16) if n <= cores]


def reading(records: Sequence[Record]) -> Table:
    """One row per way to read, one column per gate."""
    title = "Nanoseconds to read a tuple: median of seeds (least..greatest)"
    made = Table(title=title, title_justify="left")
    for head in ("tuples a call", "readers", *GATES):
        made.add_column(head, justify="left" if head == "tuples a call" else "right")
    for calls, readers in dict.fromkeys((r["setting"]["calls"], r["setting"]["readers"]) for r in records):
        of = [r for r in records if (r["setting"]["calls"], r["setting"]["readers"]) == (calls, readers)]
        cells = [_words([r["read_ns"] for r in of if r["policy"] == name]) for name in GATES]
        made.add_row(calls, str(readers), *cells)
    return made


def joining(records: Sequence[Record]) -> Table:
    """One row per number of processes or threads."""
    made = Table(title="A window join, areas parted: median of seeds (least..greatest)", title_justify="left")
    for head in ("by", "tuples/s", "comparisons/s", "processor ms", "events"):
        made.add_column(head, justify="left" if head == "by" else "right")
    for name in dict.fromkeys(r["policy"] for r in records):
        of = [r for r in records if r["policy"] == name]
        cells = [_words([r[field] for r in of]) for field in ("tuples_per_s", "comparisons_per_s")]
        cells += [_words([1000 * r["cpu_s"] for r in of]), _words([r["events"] for r in of])]
        made.add_row(name, *cells)
    return made


def _words(values: Sequence[float]) -> str:
    spread = Spread.of(values)
    return f"{spread.middle:,.0f} ({spread.low:,.0f}..{spread.high:,.0f})"
