"""A process of a fleet: `zookeeper_child.py lead|lease HOSTS ROOT WHO TIMEOUT_MS`.

`lead` stands in the election and tells of each office that it comes to; while it leads, it counts, in the store, one up and
one up. `lease` asks for the lease of `books`, tells `held TOKEN` or `refused WHY`, and answers `sure`, `lost` and `release`.
"""

import sys
import threading
from typing import Any

from fleet.trees import Placed
from headway.errors import HeadwayError, SettingError
from headway.fleet.candidacy import Candidacy
from headway.fleet.election import Leading
from headway.fleet.leases import QueryLeasing
from headway.fleet.records import Shelf
from headway.fleet.session import Unheard
from headway.fleet.store import PutRecord, Written
from headway.fleet.zookeeper.session import open_session
from headway.lease.keeper import Keeper

COUNTED = Shelf("counted", Placed)


def told(*what: object) -> None:
    print(*what, flush=True)


def lead(hosts: str, root: str, who: str, timeout_ms: int) -> None:
    """The steps of the record are who counted, and in which epoch: one for each count."""
    candidacy = Candidacy(lambda tell: open_session(hosts, who, timeout_ms=timeout_ms, tell=tell, start_s=2), root, who)
    before: Any = None
    try:
        while True:
            office = candidacy.turn()
            if office != before:
                told(type(office).__name__.lower(), office.epoch if isinstance(office, Leading) else "")
            before = office
            if isinstance(office, Leading) and candidacy.sure():
                _count(candidacy, office, who)
            candidacy.wait(0.02 if isinstance(office, Leading) else 0.2)
    finally:
        candidacy.close()
        told("closed")


def _count(candidacy: Candidacy, by: Leading, who: str) -> None:
    try:
        last = candidacy.store.read(COUNTED, "all")
        steps = () if last is None else last.record.steps
        now = Placed("all", who, (*steps, f"{by.epoch} {who}"))
        done = candidacy.store.write(by, PutRecord(COUNTED, "all", now, None if last is None else last.version))
    except Unheard:
        return
    if isinstance(done, Written):
        told("counted", by.epoch)


def lease(hosts: str, root: str, who: str, timeout_ms: int) -> None:
    with open_session(hosts, who, timeout_ms=timeout_ms) as session:
        try:
            held = QueryLeasing(session, root, wait_s=30).acquire("books", who)
        except SettingError as error:
            told("refused", error)
            return
        gone = threading.Event()
        keeper = Keeper(held, "books", lambda holder: gone.set())
        told("held", held.token)
        for asked in map(str.strip, sys.stdin):
            if asked == "sure":
                told("yes" if held.sure() else "no")
            elif asked == "lost":
                gone.wait()
                told(held.lost)
            elif asked == "release":
                keeper.release()
                told("released")


if __name__ == "__main__":
    try:
        what, hosts, root, who, timeout_ms = sys.argv[1:]
        {"lead": lead, "lease": lease}[what](hosts, root, who, int(timeout_ms))
    except HeadwayError as error:
        told("failed", error)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
