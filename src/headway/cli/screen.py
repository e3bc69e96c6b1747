"""What commands share on the screen: consoles, and a Spark session around work."""

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from headway.dashboard.words import clock as clock
from headway.errors import HeadwayError
from headway.loop.journal_file import state_folder

WIDE = 180  # into a file or a pipe, tables need not fold
out = Console(width=None if sys.stdout.isatty() else WIDE)
err = Console(stderr=True)


@contextmanager
def spark_session(name: str, *, cores: int, memory: str, **conf: Any) -> Iterator[Any]:
    """A Spark session that ends with the work. What its JVM says goes into a log, kept if something goes wrong."""
    import headway as hw

    log = state_folder() / f"spark-{os.getpid()}.log"
    err.print(f"starting Spark (what it says itself: {log})", highlight=False, soft_wrap=True)
    logging.getLogger("SQLQueryContextLogger").disabled = True  # errors as JSON on stderr; ours are one line
    try:
        with _stderr_into(log):
            spark = hw.session(name, cores=cores, memory=memory, **conf)
    except HeadwayError:
        raise
    except Exception as error:
        raise HeadwayError(f"Spark did not start, {log} says why: {str(error).partition(chr(10))[0]}") from None
    # Spark's own handler of Ctrl-C breaks off running batches; we would rather let them finish and stop between two.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield spark
        log.unlink(missing_ok=True)
    except KeyboardInterrupt:
        log.unlink(missing_ok=True)
        raise
    finally:
        spark.stop()


@contextmanager
def _stderr_into(log: Path) -> Iterator[None]:
    """A process started in here has the log for its stderr, and keeps it: warnings would tear our tables."""
    log.parent.mkdir(parents=True, exist_ok=True)
    ours = os.dup(2)
    with log.open("w") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)
