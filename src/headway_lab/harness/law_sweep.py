"""Thousands of random plays, each held against laws: what they were made of, and the smallest that breaks one."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol, TypeVar

from rich.table import Table

from headway_lab.harness import screen

CHUNK = 10  # plays of one process before it tells
STEPS = 20  # of the bar
SHOWN = 3  # broken laws in words

Play = TypeVar("Play", bound="PlayFile")


class Broken(Protocol):
    """A law that was broken."""

    @property
    def law(self) -> str: ...

    @property
    def says(self) -> str: ...


class PlayFile(Protocol):
    """A play can be written down, and played again."""

    def as_json(self) -> str: ...


@dataclass
class LawTally:
    """What some plays were made of, and what came of it. Whoever counts more adds fields: numbers, Counters, lists."""

    plays: int = 0
    batches: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    touched: Counter[str] = field(default_factory=Counter)  # plays with such an action
    broke: Counter[str] = field(default_factory=Counter)  # of them, those that broke a law
    laws: Counter[str] = field(default_factory=Counter)
    bad: list[tuple[int, Sequence[Any]]] = field(default_factory=list)  # by number, with what was broken

    def count(self, number: int, actions: Iterable[str], broken: Sequence[Broken]) -> None:
        """One play."""
        kinds = Counter(actions)
        self.plays += 1
        self.actions += kinds
        self.touched.update(kinds.keys())
        if broken:
            self.broke.update(kinds.keys())
            self.laws.update({one.law for one in broken})
            self.bad.append((number, broken))

    def join(self, other: "LawTally") -> None:
        for one in fields(self):
            mine, theirs = getattr(self, one.name), getattr(other, one.name)
            if isinstance(mine, Counter):
                mine.update(theirs)  # a sum would leave out what was counted and is 0
            else:
                setattr(self, one.name, mine + theirs)


def chunks(numbers: range) -> list[range]:
    """What one process plays before it tells."""
    return [range(n, min(n + CHUNK, numbers.stop)) for n in range(numbers.start, numbers.stop, CHUNK)]


def with_bar(
    tally: LawTally, title: str, numbers: range, each_s: float, play: Callable[[range], Iterable[LawTally]]
) -> None:
    """Play these numbers, and add up what came of it while a bar shows how far that is."""
    starts = range(numbers.start, numbers.stop, max(CHUNK, -(-len(numbers) // STEPS)))
    with screen.ProgressBar([each_s * starts.step] * len(starts)) as bar:
        for start in starts:
            bar.begin(f"{title} {start:,}, {len(tally.bad):,} have broken a law")
            for part in play(range(start, min(numbers.stop, start + starts.step))):
                tally.join(part)
            bar.end()


def smallest(play: Play, smaller: Callable[[Play], Iterator[Play]], breaks: Callable[[Play], bool], tries: int) -> Play:
    """One that still breaks a law, with nothing in it that need not be there; `smaller` gives all that is a step plainer."""
    again = True
    while again and tries > 0:
        again = False
        for candidate in smaller(play):
            tries -= 1
            if breaks(candidate):
                play, again = candidate, True
                break
            if tries <= 0:
                break
    return play


def keep(
    small: PlayFile, tally: LawTally, found: Sequence[Broken], out: Path, command: str, what: str, tell: Callable[[Any], str]
) -> None:
    """Write a play down that breaks the law which the first bad one broke, and say why; `found` is what it breaks."""
    number, broken = tally.bad[0]
    out.write_text(small.as_json(), "utf-8")
    for n, violations in tally.bad[:SHOWN]:
        screen.out.print(f"{what} {n}: {tell(violations[0])}", highlight=False, soft_wrap=True)
    after = next((one.says for one in found if one.law == broken[0].law), "")
    screen.out.print(f"\n{small.as_json()}{broken[0].law}: {after}", highlight=False, soft_wrap=True)
    again = f"`headway sim {command} --replay {out}` plays it"
    screen.out.print(f"{what.capitalize()} {number}, made small: {out}; {again}", soft_wrap=True)


def table(tally: LawTally, title: str, what: str, laws: Iterable[str], more: Iterable[tuple[str, int]] = ()) -> Table:
    """A row for each kind of action and each law; `more` is what else was counted."""
    made = Table(title=title, title_justify="left")
    for head in ("what happens", "times", f"{what}s with it", "of them broke a law"):
        made.add_column(head, justify="left" if head == "what happens" else "right")
    for kind, times in sorted(tally.actions.items()):
        made.add_row(kind, f"{times:,}", f"{tally.touched[kind]:,}", f"{tally.broke[kind]:,}")
    made.add_section()
    rows = list(more)
    for name, times in rows:
        made.add_row(name, f"{times:,}")
    if rows:
        made.add_section()
    for law in laws:
        made.add_row(law.replace("_", " "), "", "", f"{tally.laws[law]:,}")
    return made
