"""Messages on their way: late, lost, doubled, out of order; and hosts that stand still, or die, while they come."""

from collections.abc import Callable
from random import Random

from headway.model.time import WallMs
from headway.sim.agenda import Agenda

LOSS, DOUBLED, LATE = 0.15, 0.15, 0.2  # shares of messages in a crowd
LATE_MS = 3_000
Event = Callable[[], None]


class Host:
    """A process on a machine of its own. While it is frozen nothing happens in it, and all of it when it wakes."""

    def __init__(self, name: str, agenda: Agenda) -> None:
        self.name, self._agenda = name, agenda
        self.up, self.boot = False, 0
        self._frozen, self._waiting = 0, list[tuple[int, Event]]()
        self._slept_ms = 0

    def now(self) -> WallMs:
        """By its own clock."""
        return WallMs(self._agenda.clock.at - self._slept_ms)

    @property
    def clock_stood_still(self) -> bool:
        return self._slept_ms > 0

    def later(self, ms: int, event: Event) -> None:
        """Unless it has died until then."""
        boot = self.boot
        self._agenda.at(self._agenda.clock.at + ms, lambda: self.run(boot, event))

    def run(self, boot: int, event: Event) -> None:
        if not self.up or self.boot != boot:
            return
        if self._frozen:
            self._waiting.append((boot, event))
        else:
            event()

    def start(self) -> None:
        """A new process, which is not frozen and whose clock is right."""
        self.up, self.boot = True, self.boot + 1
        self._frozen, self._slept_ms = 0, 0

    def kill(self) -> None:
        self.up = False
        self._waiting.clear()

    def freeze(self, ms: int, clock: bool) -> None:
        """Of two pauses that overlap, the later end counts."""
        boot = self.boot
        self._frozen += 1
        self._agenda.at(self._agenda.clock.at + ms, lambda: self._thaw(boot, ms if clock else 0))

    def _thaw(self, boot: int, slept_ms: int) -> None:
        if boot != self.boot:
            return
        self._frozen -= 1
        self._slept_ms += slept_ms
        if not self._frozen:
            waiting, self._waiting = self._waiting, []
            for boot, event in waiting:
                self.run(boot, event)


class Network:
    """Between hosts by name. A connection that is cut loses what is on its way."""

    def __init__(self, agenda: Agenda, dice: Random) -> None:
        self._agenda, self._dice = agenda, dice
        self._cuts: dict[tuple[str, str], int] = {}
        self._crowds = 0
        self._last: dict[tuple[str, str], int] = {}  # when the last message of an ordered connection arrives

    def cut(self, place: str, peer: str, ms: int) -> None:
        self._cuts[place, peer] = self._cuts.get((place, peer), 0) + 1
        self._agenda.at(self._agenda.clock.at + ms, lambda: self._mend(place, peer))

    def _mend(self, place: str, peer: str) -> None:
        self._cuts[place, peer] -= 1
        if not self._cuts[place, peer]:
            del self._cuts[place, peer]

    def crowd(self, ms: int) -> None:
        self._crowds += 1
        self._agenda.at(self._agenda.clock.at + ms, self._clear)

    def _clear(self) -> None:
        self._crowds -= 1

    def passes(self, one: str, other: str) -> bool:
        return not self._cuts or not any(
            {one, other} == {place, peer} or (peer == "*" and place in (one, other)) for place, peer in self._cuts
        )

    def send(self, sender: str, to: str, event: Event) -> None:
        """As by HTTP: each message on its own. It may come twice, and later than one that was sent after it."""
        for _ in range(2 if self._crowds and self._dice.random() < DOUBLED else 1):
            if not self._crowds or self._dice.random() >= LOSS:
                self._arrive(self._delay(), sender, to, event)

    def send_in_order(self, sender: str, to: str, event: Event) -> None:
        """As on a session with the store: in order and never twice, but it may be lost with its connection."""
        if self._crowds and self._dice.random() < LOSS:
            return
        at = max(self._last.get((sender, to), 0), self._agenda.clock.at + self._delay())
        self._last[sender, to] = at
        self._arrive(at - self._agenda.clock.at, sender, to, event)

    def _arrive(self, ms: int, sender: str, to: str, event: Event) -> None:
        if self.passes(sender, to):
            self._agenda.at(self._agenda.clock.at + ms, lambda: event() if self.passes(sender, to) else None)

    def _delay(self) -> int:
        if self._crowds and self._dice.random() < LATE:
            return self._dice.randrange(LATE_MS)
        return self._dice.randrange(1, 12)
