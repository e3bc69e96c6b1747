"""The first stage as a process of its own: `relay_child.py ADDRESS SOURCE TOPIC FOLDER WHERE NUMBER`.

It kills itself at its write of that number: `middle` of the transaction, `before` it, or `after` it. `never`: it runs on.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import headway as hw
from headway.kafka.transactions import TransactionalWriter

sys.path.insert(0, str(Path(__file__).parents[1]))
from spark.relay_stages import first


def deadly(where: str, number: int) -> None:
    """From now on the write of that number is the last."""
    write, count = TransactionalWriter.write, 0

    def dies() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def counted(self: Any, rows: Any, last: bytes, partitions: int) -> None:
        nonlocal count
        count += 1
        if count < number or where == "never":
            return write(self, rows, last, partitions)
        if where == "middle":
            self._producer.begin_transaction()
            for partition, key, value in rows:
                self._producer.produce(self.topic, value, key, partition)
            self._producer.produce(self.topic, last, partition=0)
            self._producer.flush(10)
        if where == "after":
            write(self, rows, last, partitions)
        dies()

    TransactionalWriter.write = counted  # type: ignore[method-assign]


def main(address: str, source: str, topic: str, folder: Path, where: str, number: int) -> None:
    deadly(where, number)
    spark = hw.session("relay-first", memory="700m", cores=1, kafka=True)
    with hw.Runtime(spark, journal=folder / "first.db") as rt:
        first(rt, spark, address, source, topic, folder)
        print("running", flush=True)
        rt.await_termination()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]), sys.argv[5], int(sys.argv[6]))
