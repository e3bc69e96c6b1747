"""The agent of a site: it serves the site's folder to the other sites, and fetches theirs, until it is told to end.

python -m headway.wan.agent --root DIR --host ADDR --port N --token-file FILE
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from headway.errors import HeadwayError, SettingError, aloud
from headway.transfer.server import FolderServer

ENDS = {signal.SIGTERM, signal.SIGINT}


class AgentOptions(argparse.ArgumentParser):
    """What is wrong is told in one line, without the page of usage."""

    def error(self, message: str) -> NoReturn:
        raise HeadwayError(message)


def main(arguments: Sequence[str]) -> int:
    try:
        server = _server(arguments)
    except HeadwayError as error:
        aloud(str(error))
        return 2
    # Held back from here on, in the server's threads too: one that came between the line and the wait would be lost.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    server.start()
    sys.stdout.write(f"site agent at {server.address}\n")
    sys.stdout.flush()
    signal.sigwait(ENDS)
    server.stop()
    return 0


def _server(arguments: Sequence[str]) -> FolderServer:
    options = AgentOptions(prog="python -m headway.wan.agent", description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--root", type=Path, required=True, help="the folder that it serves")
    options.add_argument("--host", required=True, help="the address of this site")
    options.add_argument("--port", type=int, default=0, help="0: any that is free")
    options.add_argument("--token-file", type=Path, required=True, help="a file with the token of all agents")
    parsed = options.parse_args(arguments)
    return FolderServer(parsed.root, parsed.host, parsed.port, _token(parsed.token_file))


def _token(file: Path) -> str:
    try:
        words = file.read_text().split()
    except (OSError, ValueError) as error:
        raise SettingError("token-file", str(file), f"a file with a token in it: {type(error).__name__}") from None
    if len(words) != 1:
        raise SettingError("token-file", str(file), "a file with one word in it, the token")
    return words[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
