"""Sends the ads of a site to its broker, each at its own time: `python -m headway_lab.experiments.wan_live.sender JSON`."""

import json
import sys
import threading

from headway_lab.experiments.wan_live.views import AdStream
from headway_lab.workloads.replay import replay


def main(text: str) -> int:
    told = json.loads(text)
    failed = []

    def send(stream: AdStream) -> None:
        try:
            replay(stream.feeds(), told["address"], told["topic"])
        except Exception as error:
            failed.append(str(error))

    threads = [threading.Thread(target=send, args=(AdStream(*one),)) for one in told["streams"]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.stderr.writelines(f"{line}\n" for line in failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
