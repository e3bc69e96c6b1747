"""Segments measured in one warm JVM, with a bar that says how long the rest will take."""

from collections.abc import Mapping, Sequence

from headway_lab.harness import screen
from headway_lab.harness.bench import Bench
from headway_lab.harness.ledger import Ledger
from headway_lab.harness.setting import Setting
from headway_lab.harness.suite import EXPERIMENT, Segment, measure, warm


def measured(
    segments: Sequence[Segment],
    book: Ledger,
    warm_s: float,
    *,
    cores: int,
    memory: str,
    experiment: str = EXPERIMENT,
    warm_on: Setting | None = None,
    kafka: bool = False,
    conf: Mapping[str, str] | None = None,
) -> None:
    """Measure all segments; every result is in the ledger before the next one begins."""
    if not segments:
        screen.err.print("everything asked for is in the ledger already", highlight=False)
        return
    with screen.spark_session("headway-bench", cores=cores, memory=memory, kafka=kafka, **(conf or {})) as spark:
        bench = Bench(spark)
        try:
            screen.warm_up(lambda say, told: warm(bench, warm_s, say, told, warm_on), warm_s)
            with screen.ProgressBar([segment.expected_s for segment in segments]) as bar:
                steps = measure(bench, segments, book, bar.say, experiment)
                for number, segment in enumerate(segments, start=1):
                    bar.begin(f"{number}/{len(segments)} seed {segment.seed}, {segment.title}")
                    next(steps)
                    bar.end()
        finally:
            bench.close()
