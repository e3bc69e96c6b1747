"""A process that wants a lease on a remote checkpoint: `lease_child.py CHECKPOINT WHO EXPIRY_S`.

It puts out `held TOKEN`, or `refused WHY`, and then answers what it reads: `sure`, `lost` (when it is), `release`.
"""

import os
import sys
import threading

from headway.errors import SettingError
from headway.lease.created import CreatedLease
from headway.lease.keeper import Keeper
from headway.spark.hadoop_files import HadoopFiles
from spark.checkpoint_child import gateway


def main(checkpoint: str, who: str, expiry_s: float) -> None:
    java = gateway()
    files = HadoopFiles(java, java.org.apache.hadoop.conf.Configuration(), checkpoint)
    try:
        lease = CreatedLease(files, checkpoint, f"{who} of process {os.getpid()}", expiry_s)
    except SettingError as error:
        print("refused", error, flush=True)
        return
    lost = threading.Event()
    keeper = Keeper(lease, who, lambda holder: lost.set())
    print("held", lease.token, flush=True)
    for asked in map(str.strip, sys.stdin):
        if asked == "sure":
            print("yes" if lease.sure() else "no", flush=True)
        elif asked == "lost":
            lost.wait()
            print(lease.lost, flush=True)
        elif asked == "release":
            keeper.release()
            print("released", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
