"""How a life of a piece begins, on another site if need be, and how it ends. Every step may be taken twice."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.errors import HeadwayError
from headway.fleet.node.wire import CommandReceipt
from headway.kafka import topics
from headway.model.piece import Piece
from headway.transfer.client import ask_pull
from headway.wan.control.record import PieceLife, PlacedPiece
from headway.wan.control.sites import SiteAddress, SiteNodes, StepFailed
from headway.wan.site_file import SiteFile

BEGIN_S = 150.0  # for a piece that was started to commit its first batch
LOOK_S = 0.2
TOLD_S = 5.0  # after which the status of a node tells of what was started there
BROKEN = ("failed", "ended", "stopped", "drained")  # states in which a query does nothing more
NEVER_BEGAN = ("prepared", "taken")


@dataclass(frozen=True, slots=True)
class JobFiles:
    """What all sites must be able to read."""

    job: Path
    limits: Path


@dataclass(frozen=True, slots=True)
class BroughtOver:
    """How a life began."""

    piece: str
    site: str
    seconds: float
    still_s: float = 0.0  # for so long the piece stood still
    sent_bytes: int = 0  # of its checkpoint that crossed the link
    spared_bytes: int = 0

    @property
    def words(self) -> str:
        moved = f", {self.sent_bytes / 1e6:.2f} MB of its checkpoint came over the link" if self.sent_bytes else ""
        return f"{self.piece} has begun at {self.site}: {self.seconds:.1f} s, it stood for {self.still_s:.1f} s{moved}"


class PieceLives:
    """Begins and ends lives of pieces at the nodes of their sites."""

    def __init__(
        self, sites: Mapping[str, SiteAddress], nodes: SiteNodes, token: str, files: JobFiles, ended: Callable[[], bool]
    ) -> None:
        """`ended`: whether to wait for nothing any more."""
        self._sites, self._nodes, self._token, self._files, self._ended = sites, nodes, token, files, ended
        self._unclear: set[tuple[str, int]] = set()  # lives that were asked to start, and may have

    def make_topics(self, piece: Piece) -> None:
        for channel in (*piece.reads, *piece.writes):
            for name in (channel.topic, channel.progress):
                topics.create(self._sites[channel.site].broker, name)

    def begin(self, placed: PlacedPiece) -> BroughtOver:
        """Returns when its first batch is committed. Raises StepFailed, certain if nothing can have begun."""
        try:
            return self._begun(placed)
        except StepFailed as error:
            life = placed.name, placed.now.epoch
            raise StepFailed(str(error), certain=error.certain and life not in self._unclear) from None

    def _begun(self, placed: PlacedPiece) -> BroughtOver:
        began = time.monotonic()
        now, before = placed.now, placed.before
        found = self._nodes.query(now.site, placed.name)
        known = found is not None and found.epoch == now.epoch
        if found is not None and known and found.state not in (*BROKEN, *NEVER_BEGAN):
            self._await_commit(placed)
            return BroughtOver(placed.name, now.site, time.monotonic() - began)
        file, origin, sent, spared = str(self._file(placed)), None if before is None else before.folder, 0, 0
        moves = before is not None and before.site != now.site
        if before is not None and moves:
            origin, sent, _ = self._pulled(placed, before)  # while it still runs
            if not known:
                made = {"file": file, "folder": now.folder, "origins": (origin,)}
                self._nodes.did(now.site, "prepare", placed.name, now.epoch, **made)
        stands = time.monotonic()
        drained = None if before is None else self._drained(placed.name, before)
        if before is not None and moves:
            _, more, spared = self._pulled(placed, before)
            sent += more
        self._start(placed, file, self._origins(placed, origin), drained)
        still = time.monotonic() - stands if before is not None else 0.0
        self._await_commit(placed)
        return BroughtOver(placed.name, now.site, time.monotonic() - began, still, sent, spared)

    def _start(self, placed: PlacedPiece, file: str, origins: tuple[str, ...], drained: CommandReceipt | None) -> None:
        now, life = placed.now, (placed.name, placed.now.epoch)
        goes_on = {} if drained is None else {"batch": drained.batch, "experience": drained.experience}
        unclear = life in self._unclear
        self._unclear.add(life)  # until an answer has come
        try:
            self._nodes.did(
                now.site, "start", placed.name, now.epoch, file=file, folder=now.folder, origins=origins, **goes_on
            )  # fmt: skip
        except StepFailed as error:
            if error.certain and not unclear:
                self._unclear.discard(life)
            raise

    def _origins(self, placed: PlacedPiece, origin: str | None) -> tuple[str, ...]:
        """Where it may go on from, oldest first: the life before, and those since that have failed here, or seemed to."""
        first = 1 if placed.before is None else placed.before.epoch + 1
        tried = (self._sites[placed.now.site].checkpoint(placed.name, n) for n in range(first, placed.now.epoch))
        return (*(() if origin is None else (origin,)), *tried)

    def settle(self, placed: PlacedPiece) -> None:
        """It goes on here: the life before it, at another site, is forgotten there."""
        before = placed.before
        if before is not None and before.site != placed.now.site:
            self._nodes.ask(before.site, "stop", placed.name, before.epoch)

    def given_up(self, placed: PlacedPiece) -> bool:
        """End a life that has failed to begin; true if it did something after all, and is what must be gone on from."""
        life = placed.now
        found = self._nodes.query(life.site, placed.name)
        taken = found is not None and found.epoch == life.epoch and found.state not in NEVER_BEGAN
        stopped = self._nodes.ask(life.site, "stop", placed.name, life.epoch)
        return taken and stopped is not None and stopped.batch is not None

    def end(self, placed: PlacedPiece) -> None:
        """Between two batches, and for good."""
        for life in (placed.now, placed.before):
            if life is not None:
                self._nodes.ask(life.site, "stop", placed.name, life.epoch)

    def trouble(self, placed: PlacedPiece, since: float) -> str | None:
        """Why a piece that has begun does not run, by a status after that moment. None: it does, or it is not known."""
        heard = self._nodes.heard(placed.now.site)
        if heard is None or heard.at <= since:
            return None
        found = heard.query(placed.name)
        if found is None:
            return f"the node at {placed.now.site} has begun anew"
        if found.epoch != placed.now.epoch or found.state in BROKEN:
            return f"it is {found.state} at {placed.now.site}: {found.error or 'the reason is unknown'}"
        return None

    def _file(self, placed: PlacedPiece) -> Path:
        """A file for each life: what a node has read of one, it keeps."""
        site = self._sites[placed.now.site]
        servers = {name: one.broker for name, one in self._sites.items()}
        told = SiteFile(str(self._files.job), servers, str(self._files.limits), (placed.piece,))
        return told.written(Path(site.folder, "pieces", f"{placed.name}-{placed.now.epoch}.py"))

    def _pulled(self, placed: PlacedPiece, before: PieceLife) -> tuple[str, int, int]:
        """The earlier life's checkpoint, here; what crossed the link, and what needed not to."""
        here, there = self._sites[placed.now.site], self._sites[before.site]
        into = f"incoming/{placed.name}/{before.epoch}"
        try:
            report = ask_pull(here.agent, self._token, url=there.agent, folder=there.relative(before.folder), into=into)
        except HeadwayError as error:
            raise StepFailed(f"the checkpoint of {placed.name} does not come from {there.name}: {error}", True) from None
        return str(Path(here.folder, into)), report.sent_bytes, report.spared_bytes

    def _drained(self, name: str, before: PieceLife) -> CommandReceipt | None:
        """None if it had ended already."""
        try:
            receipt = self._nodes.ask(before.site, "drain", name, before.epoch)
        except StepFailed as error:
            raise StepFailed(str(error), certain=True) from None  # of the life that comes after it
        return receipt if receipt is not None and receipt.done else None

    def _await_commit(self, placed: PlacedPiece) -> None:
        site, began = placed.now.site, time.monotonic()
        while time.monotonic() < began + BEGIN_S and not self._ended():
            heard = self._nodes.heard(site)
            found = None if heard is None else heard.query(placed.name)
            if found is not None and found.epoch == placed.now.epoch:
                if found.state in BROKEN:
                    raise StepFailed(f"{placed.name} is {found.state} at {site}: {found.error}")
                if found.commits:
                    return
            elif heard is not None and heard.at > began + TOLD_S:
                raise StepFailed(f"{placed.name} is not at {site} any more: its node has begun anew")
            time.sleep(LOOK_S)
        raise StepFailed(f"{placed.name} has committed no batch at {site} within {BEGIN_S:g} s")
