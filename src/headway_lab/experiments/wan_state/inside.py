"""Asks agents from within a site, which alone sees the links: `python -m ...wan_state.inside JSON`, one line back."""

import json
import sys
from dataclasses import asdict

from headway.transfer.client import ask_pull, probe


def main(text: str) -> int:
    told = json.loads(text)
    if told["do"] == "probe":
        answer = {"bytes_per_s": probe(told["url"], told["token"])}
    else:
        report = ask_pull(told["agent"], told["token"], url=told["url"], folder=told["folder"], into=told["into"])
        answer = asdict(report)
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
