"""Segments measured in one warm JVM, with a bar that says how long the rest will take."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from headway.cli import arguments
from headway_lab.harness import screen
from headway_lab.harness.bench import Bench
from headway_lab.harness.ledger import Ledger
from headway_lab.harness.setting import Setting
from headway_lab.harness.suite import EXPERIMENT, GATELESS, Segment, by_setting, measure, ratio_to_best, warm


@dataclass(frozen=True, slots=True)
class BenchSession:
    """The Spark session that a benchmark runs in."""

    cores: int
    memory: str
    kafka: bool = False
    conf: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, cores: int | None, memory: str, kafka: bool = False, conf: Mapping[str, str] | None = None) -> Self:
        """From what was typed, checked."""
        return cls(arguments.cores(cores), arguments.memory(memory), kafka, conf or {})

    def open(self) -> AbstractContextManager[Any]:
        return screen.spark_session("headway-bench", cores=self.cores, memory=self.memory, kafka=self.kafka, **self.conf)


def measured(
    segments: Sequence[Segment],
    book: Ledger,
    warm_s: float,
    session: BenchSession,
    experiment: str = EXPERIMENT,
    warm_on: Setting | None = None,
    rehearsed: Sequence[Segment] = (),
) -> None:
    """Measure all segments; every result is in the ledger before the next one begins.

    Those that are `rehearsed` are run first, and nothing of them is kept: the first to run code that the warm-up
    has not run would be measured while it is compiled.
    """
    if not segments:
        screen.err.print("everything asked for is in the ledger already", highlight=False)
        return
    with session.open() as spark:
        bench = Bench(spark)
        try:
            screen.warm_up(lambda say, show_cost: warm(bench, warm_s, say, show_cost, warm_on), warm_s)
            with screen.ProgressBar([segment.expected_s for segment in (*rehearsed, *segments)]) as bar:
                for segment in rehearsed:
                    bar.begin(f"rehearsal, {segment.title}")
                    for _ in bench.run(segment.policies, segment.setting, segment.seed, bar.say):
                        pass
                    bar.end()
                steps = measure(bench, segments, book, bar.say, experiment)
                for number, segment in enumerate(segments, start=1):
                    bar.begin(f"{number}/{len(segments)} seed {segment.seed}, {segment.title}")
                    next(steps)
                    bar.end()
        finally:
            bench.close()


def show_latencies(
    book: Ledger, policies: Sequence[str], cases: Sequence[Setting], seeds: Sequence[int], experiment: str = EXPERIMENT
) -> None:
    """Print what this commit has in the ledger of what was asked for."""
    records = [
        r for r in book.of_this_commit(experiment, map(asdict, cases)) if r["policy"] in policies and r["seed"] in seeds
    ]
    for load, by_policy in by_setting(records).items():
        screen.out.print(screen.latency_table(f"{load}: median of seeds (least..greatest)", by_policy))
        mean, tail = ratio_to_best(by_policy, "mean_ms"), ratio_to_best(by_policy, "p99_ms")
        if mean and tail:
            screen.out.print(
                f"Klink over the best of {', '.join(p for p in GATELESS if p in by_policy)}:"
                f" mean {mean.middle:.3f} ({mean.low:.3f}..{mean.high:.3f}),"
                f" p99 {tail.middle:.3f} ({tail.low:.3f}..{tail.high:.3f})",
                highlight=False,
            )
