"""The control source in Python, called directly: when it may sweep what was announced ahead."""

import threading
import time

from headway.model.deadline import Deadlines, Grid
from headway.model.message import Asked, InputSpec, Message, QuerySpec
from headway.model.offset import ControlOffset
from headway.spark.channel.control import ControlReader
from headway.spark.channel.gate import Gate


def test_what_was_announced_ahead_waits_by_the_clock_that_announced_it() -> None:
    """The wall clock was set an hour ahead of that one."""
    posted: list[Message] = []
    asked = threading.Event()

    def inbox(message: Message) -> None:
        posted.append(message)
        if isinstance(message, Asked):
            asked.set()

    def clock() -> int:
        return int(time.time() * 1000) - 3_600_000

    gate = Gate(inbox, now=clock)
    gate.expect(QuerySpec("q", (InputSpec("a", 500),), Deadlines((Grid(1000),)), ahead=True), nameless=True)
    options = {"host": "127.0.0.1", "port": str(gate.port), "secret": gate.secret}
    reader = ControlReader(options)
    ends: list[ControlOffset] = []
    reading = threading.Thread(target=lambda: ends.append(reader.next(ControlOffset())))
    reading.start()
    assert asked.wait(60)
    ripe = time.monotonic() + 1 + 0.5
    announced = ControlOffset(1, clock() + 1_000, live=True)
    assert gate.release("q", announced)
    reading.join(60)
    assert ends == [announced], "and what the clock said is no part of the offset"
    gate.close()
    reader.next(ends[0])
    assert time.monotonic() >= ripe
