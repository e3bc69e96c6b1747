"""A query from a remote checkpoint: `leased_query_child.py CHECKPOINT FOLDER`. Says `running`, then how it ended."""

import sys
from pathlib import Path
from typing import Any

import headway as hw
from headway.errors import QueryFailed


def main(checkpoint: str, folder: Path) -> None:
    def keep(frame: Any, number: int) -> None:
        (folder / f"batch-{number}").touch()

    spark = hw.session("leased", memory="1g", spark__headway__lease__expiry="3 seconds")
    with hw.Runtime(spark, journal=folder / "journal.db") as rt:
        rows = rt.watermark(spark.readStream.format("rate").load(), "timestamp", "1 second")
        rt.start(rows.writeStream.foreachBatch(keep), name="books", checkpoint=checkpoint, restart=3)
        print("running", flush=True)
        try:
            rt.await_termination()
            print("ended", flush=True)
        except QueryFailed as error:
            print("failed", error, [q.state for q in rt.status().queries], flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
