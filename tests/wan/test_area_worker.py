"""What the record says is made true, whatever fails on the way, and never by going back behind what was done."""

import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

from headway.model.piece import Piece
from headway.model.time import EventMs
from headway.wan.control.book import AreaBook
from headway.wan.control.changes import generation, moved
from headway.wan.control.lives import BroughtOver
from headway.wan.control.record import AreaRecord, PlacedPiece, RecordFile
from headway.wan.control.sites import StepFailed
from headway.wan.control.worker import AreaWorker
from wan.area_records import SITES, deployed, plans, running

COMBINE = "q-g1-combine-all-0"


@dataclass
class SitesInMemory:
    """Begins what it is told to, unless the test has said what fails. It knows which lives there have been."""

    fails: list[StepFailed] = field(default_factory=list)  # the next beginnings
    went_on: bool = False  # whether what failed had done something by then
    silent: bool = False  # nobody there can say
    troubles: dict[str, str] = field(default_factory=dict)
    lives: list[tuple[str, str, int]] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    def make_topics(self, piece: Piece) -> None: ...

    def begin(self, placed: PlacedPiece) -> BroughtOver:
        if self.fails:
            raise self.fails.pop(0)
        self.lives.append((placed.name, placed.now.site, placed.now.epoch))
        return BroughtOver(placed.name, placed.now.site, 1.0)

    def settle(self, placed: PlacedPiece) -> None: ...

    def given_up(self, placed: PlacedPiece) -> bool:
        if self.silent:
            raise StepFailed("nobody answers")
        return self.went_on

    def end(self, placed: PlacedPiece) -> None:
        self.ended.append(placed.name)

    def trouble(self, placed: PlacedPiece, since: float) -> str | None:
        return self.troubles.pop(placed.name, None)


def worker(record: AreaRecord, sites: SitesInMemory, folder: Path) -> tuple[AreaWorker, list[str]]:
    said: list[str] = []
    book = AreaBook(RecordFile(folder / "record.json"), record)
    made = AreaWorker(book, sites, SITES, lambda piece, text: said.append(text), threading.Event())
    made.pause_s = 0.0
    return made, said


def moving() -> AreaRecord:
    plan = plans()[0]
    return moved(running(plan), plan, deployed(plan, (0, 0, 1)), SITES)


def combine(made: AreaWorker) -> PlacedPiece:
    return next(placed for placed in made.book.record.current.pieces if placed.name == COMBINE)


def test_a_piece_begins_where_it_shall_and_that_is_written_down(tmp_path: Path) -> None:
    sites = SitesInMemory()
    made, said = worker(moving(), sites, tmp_path)
    assert made.busy
    made.step()
    made.step()
    assert sites.lives == [(COMBINE, "tokyo", 2)] and not made.busy, "once, however often it is looked at"
    assert combine(made).before is None and "has begun at tokyo" in said[0]
    assert RecordFile(tmp_path / "record.json").read() == made.book.record


def test_what_cannot_begin_there_goes_home(tmp_path: Path) -> None:
    sites = SitesInMemory([StepFailed("no room", certain=True)])
    made, said = worker(moving(), sites, tmp_path)
    made.step()
    made.step()
    assert sites.lives == [(COMBINE, "ohio", 3)] and "it goes home to ohio" in said


def test_what_may_have_begun_there_is_not_begun_elsewhere(tmp_path: Path) -> None:
    """Home again would be behind what it may have done."""
    sites = SitesInMemory([StepFailed("no answer")], silent=True)
    made, _ = worker(moving(), sites, tmp_path)
    made.step()
    assert combine(made).now.epoch == 2 and combine(made).now.site == "tokyo", "asked for once more, as it was"
    sites.silent, sites.fails = False, [StepFailed("no batch")]
    made.step()
    made.step()
    assert sites.lives == [(COMBINE, "tokyo", 3)]


def test_a_life_that_did_something_is_gone_on_from(tmp_path: Path) -> None:
    sites = SitesInMemory([StepFailed("no batch", certain=True)], went_on=True)
    made, _ = worker(moving(), sites, tmp_path)
    made.step()
    assert combine(made).before is not None and combine(made).before == moving_life(made, 2)
    made.step()
    assert sites.lives == [(COMBINE, "tokyo", 3)]


def moving_life(made: AreaWorker, epoch: int) -> object:
    now = combine(made).now
    return replace(now, epoch=epoch, folder=now.folder.replace("/3", f"/{epoch}"))


def test_a_piece_that_has_ended_begins_anew_where_it_was(tmp_path: Path) -> None:
    sites = SitesInMemory(troubles={COMBINE: "the node at ohio has begun anew"})
    made, said = worker(running(plans()[0]), sites, tmp_path)
    made.step()
    assert sites.lives == [(COMBINE, "ohio", 2)] and said[0] == "the node at ohio has begun anew: it begins anew there"


def test_an_old_plan_ends_piece_by_piece_as_soon_as_nobody_needs_them(tmp_path: Path) -> None:
    plan, other = plans()[:2]
    after = generation("q", 2, other, deployed(other, (0, 1, 0)), SITES, EventMs(20_000))
    sites = SitesInMemory()
    made, said = worker(running(plan).with_plan(after), sites, tmp_path)
    old = {placed.name: placed.piece for placed in made.book.record.plans[0].pieces}
    source = old["q-g1-in-tokyo"]
    made.complete = {channel.topic: EventMs(20_000) for channel in source.writes}
    made.step()
    assert sites.ended == [], "the new plan has not begun yet"
    made.step()
    assert sites.ended == [source.name] and made.busy
    made.watermarks = {"q-g1-sink-0": EventMs(20_000)}
    made.step()
    assert set(sites.ended) == set(old) and not made.busy and len(made.book.record.plans) == 1
    assert "has delivered everything" in said[-1]


def test_all_pieces_end_with_the_pipeline(tmp_path: Path) -> None:
    sites = SitesInMemory()
    made, _ = worker(running(plans()[0]), sites, tmp_path)
    made.end_all()
    assert sorted(sites.ended) == sorted(placed.name for placed in made.book.record.current.pieces)
