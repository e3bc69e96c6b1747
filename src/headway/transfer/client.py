"""What a site, or the controller of sites, asks of a site agent.

report = pull("http://10.78.0.2:7070", token, "queries/orders", Path("/data/queries/orders"))
ask_pull("http://10.78.0.3:7070", token, url="http://10.78.0.2:7070", folder="queries/orders", into="queries/orders")
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from headway.errors import HeadwayError, SettingError
from headway.transfer.folder_pull import FolderPull
from headway.transfer.link import LinkCut, RetryLimit, SiteLink
from headway.transfer.wire import MOST_PROBED, PullOrder, TransferReport

ATTEMPTS, PAUSE_S = 8, 0.5


def pull(
    url: str, token: str, folder: str, into: Path, *, only: Sequence[str] | None = None,
    attempts: int = ATTEMPTS, pause: float = PAUSE_S,
) -> TransferReport:  # fmt: skip
    """Make `into` what `folder` is at the agent. With `only`, of the files whose names begin so, and nothing is deleted.

    A cut connection is tried again, until so many attempts in a row have gained nothing; `pause` is what the first waits.
    """
    with SiteLink(url, token, RetryLimit(attempts, pause)) as link:
        return FolderPull(link, folder, into, only).run()


def probe(url: str, token: str, size: int = 256 * 1024) -> float:
    """Bytes per second that come from the agent, timed over so many bytes."""
    if not 1 <= size <= MOST_PROBED:
        raise SettingError("bytes", size, f"1 to {MOST_PROBED:,}")
    with SiteLink(url, token) as link:
        try:
            answer = link.get("/v1/probe", bytes=size)
            began = time.perf_counter()
            got = sum(map(len, link.chunks(answer)))
        except LinkCut as cut:
            raise HeadwayError(f"{url}: no probe of {size:,} bytes: {cut}") from cut
    return got / max(time.perf_counter() - began, 1e-6)


def ask_pull(
    agent: str, token: str, *, url: str, folder: str, into: str, only: Sequence[str] | None = None
) -> TransferReport:
    """Have an agent pull a folder of the agent at `url`; answers when that is done, however long it takes."""
    order = PullOrder(url, folder, into)
    if only is not None:
        order = replace(order, only=tuple(only))
    with SiteLink(agent, token) as link:
        try:
            said = b"".join(link.chunks(link.ask("POST", "/v1/pull", order.text, silence_s=None)))
        except LinkCut as cut:
            raise HeadwayError(f"{agent}: no answer to a pull of {folder!r}, which may go on: {cut}") from cut
    return TransferReport.read(said)
