"""What a new incarnation goes on from, be it on this node's disk or on another one's.

A checkpoint that only another node sees is copied from there: most of it while the query runs, the rest when it stands.
The copy lies beside the new folder, and is an origin like any other then.
"""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.fleet.incarnation import mark_in
from headway.fleet.node.checkpoints import (
    PULLED,
    CheckpointPromise,
    OriginChoice,
    OriginSeen,
    choice,
    theirs,
)
from headway.fleet.node.peer_checkpoints import PeerCheckpoints
from headway.fleet.node.wire import NodeCommand
from headway.loop.journal_file import state_folder
from headway.spark.fleet.shelf import NodeShelf
from headway.spark.lease import default_fs, local_path


@dataclass(frozen=True, slots=True)
class Origin:
    """A folder that this node reads, in place of those that were named."""

    chosen: OriginChoice | None = None
    place: str | None = None  # where it is read: that folder itself, or its copy here

    @property
    def places(self) -> tuple[str, ...]:
        return () if self.place is None else (self.place,)


class Origins:
    """Finds them, copies what is elsewhere, and has it written down who goes on from them."""

    def __init__(self, spark: Any, node: str, run: str, shelf: NodeShelf) -> None:
        self._spark, self._node, self._run, self._shelf = spark, node, run, shelf
        self._copies: dict[str, set[Path]] = {}  # by the folders that they were made for
        self._where: dict[str, str] = {}  # folders that were found on other nodes' disks, by the nodes' URLs
        self.peers: PeerCheckpoints | None = None  # the other nodes, once their addresses are known

    def ahead(self, command: NodeCommand) -> Origin:
        """While the query may still run."""
        found = choice([self._seen(place, looked_for=True, held=False) for place in command.origins])
        return self.brought(command, found, serving=True)

    def now(self, command: NodeCommand) -> OriginChoice | None:
        """When it has ended. Raises a HeadwayError where what is needed cannot be had."""
        found = choice([self._seen(place, looked_for=False, held=not command.force) for place in command.origins])
        if found is None and command.origins and command.action == "start":
            # What may begin from nothing is taken over first, and started by another command.
            names = ", ".join(command.origins)
            raise HeadwayError(
                f"query {command.query!r}: no node that answers has one of its checkpoints ({names}): start the node again "
                "on whose disk they are, or give them up: headway fleet stop --forget-checkpoint"
            )
        if found is not None and found.seen.told.holder is not None and not command.force:
            place, holder = found.seen.told.place, found.seen.told.holder
            raise HeadwayError(f"origin = {place!r}: expected one that no running query uses; {holder} uses it")
        return found

    def brought(self, command: NodeCommand, found: OriginChoice | None, serving: bool = False) -> Origin:
        """Where this node reads it; what is on another one's disk is copied here first."""
        if found is None:
            return Origin()
        told, url = found.seen.told, found.seen.url
        if url is None or self.peers is None or command.folder is None:
            return Origin(found, told.place)
        into = self._copy_of(told.place, command.folder)
        self._copies.setdefault(command.folder, set()).add(into)
        self.peers.pull(url, told.place, into, serving)
        if serving:  # what came meanwhile; and what is there was read by then, which the last time is spared
            self.peers.pull(url, told.place, into, serving)
        return Origin(found, into.as_uri())

    def promised(self, command: NodeCommand, origin: Origin) -> None:
        """Before the new folder is called complete: then nobody goes on from the old one who does not see the new one."""
        if origin.chosen is None or not origin.chosen.promised or command.folder is None:
            return
        seen = origin.chosen.seen
        asked = CheckpointPromise(seen.told.place, command.folder, origin.chosen.instead)
        if seen.url is None or self.peers is None:
            self._shelf.promise(asked)
        else:
            self.peers.promise(seen.url, asked)

    def cleaned(self, command: NodeCommand) -> int:
        """Have other nodes delete what is on their disks; returns how many folders that were."""
        gone = 0
        for place in command.origins:
            self._where.pop(place, None)
            if self.peers is None or self._shelf.told(place).there:
                continue
            for url, told in self.peers.told(place).items():
                gone += told.there and self.peers.clean(url, place, command)
        return gone

    def forget_copies(self, folder: str) -> None:
        """Those that were made for this folder."""
        for copy in self._copies.pop(folder, ()):
            shutil.rmtree(copy, ignore_errors=True)

    # ---- how it is done

    def _seen(self, place: str, looked_for: bool, held: bool) -> OriginSeen:
        mine = self._shelf.told(place, held)
        if self.peers is None:
            return OriginSeen(mine)
        if place in self._where and not looked_for:
            return OriginSeen(self.peers.told_by(self._where[place], place), self._where[place])
        mark = mark_in(mine.mark)
        ours = mine.there and mark is not None and (mark.node, mark.run) == (self._node, self._run)
        if ours or (mine.there and not looked_for):
            return OriginSeen(mine)
        others = self.peers.told(place, None if mark is None else mark.node, mine.mark)
        url = theirs(mine, others)
        if url is None:
            self._where.pop(place, None)
            return OriginSeen(mine)
        self._where[place] = url
        return OriginSeen(others[url], url)

    def _copy_of(self, place: str, folder: str) -> Path:
        own = local_path(folder, default_fs(self._spark))
        beside = state_folder() if own is None else own.absolute().parent
        return beside / PULLED / hashlib.sha256(place.encode()).hexdigest()[:16]
