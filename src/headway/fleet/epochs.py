"""The epoch of an incarnation, and the fence in the sink that goes by it.

A driver that was frozen in the middle of a batch goes on with it when it wakes, though another has run the query since. Only
the sink can refuse it, in the same transaction in which it takes the rows:

    @hw.query()
    def views(rt, spark):
        epoch = hw.epoch(lambda: sqlite3.connect(TABLE))

        def write(batch, number):
            rows = batch.collect()
            with sqlite3.connect(TABLE) as table:
                epoch.check(table)   # first of all: it locks the query's row, and raises if a newer incarnation was here
                ...

        return counts(rt, spark).writeStream.foreachBatch(write)

Under `headway run` there is but one incarnation, and the check does nothing.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from headway.errors import HeadwayError

TABLE = "headway_epochs"
Connect = Callable[[], Any]  # gives a connection as Python's DB-API has it
Fence = Callable[[str], None]  # from now on no writer that began before writes for this query


class FencedOff(HeadwayError):
    """A newer incarnation of this query has the sink."""


@dataclass(frozen=True, slots=True)
class SinkEpoch:
    """The epoch of the incarnation that is being built, and the stores that keep the newest one of its query."""

    query: str
    number: int | None  # None: there is no fleet
    stores: tuple[Connect, ...] = ()
    fences: tuple[Fence, ...] = ()  # of sinks that shut out earlier writers by themselves, such as a relay

    def check(self, connection: Any) -> None:
        """To be called first in the transaction that writes. Raises FencedOff, which must take the transaction back."""
        if self.number is not None:
            self._raised(connection)

    def raise_in_stores(self) -> bool:
        """From now on no writer of an earlier epoch is let in. Says whether there is a store; raises FencedOff if this is
        itself an earlier one."""
        if self.number is None:
            return False
        for connect in self.stores:
            connection = connect()
            try:
                self.make_table(connection)
                self._raised(connection)
                connection.commit()
            finally:
                connection.close()
        for fence in self.fences:
            fence(self.query)
        return bool(self.stores or self.fences)

    def make_table(self, connection: Any) -> None:
        """Where the epochs are kept. `raise_in_stores` does this for the stores that were named."""
        text = f"create table if not exists {TABLE} (query varchar(255) not null primary key, epoch bigint not null)"
        connection.cursor().execute(text)
        connection.commit()

    def _raised(self, connection: Any) -> None:
        cursor, hole = connection.cursor(), _placeholder(connection)
        # The update comes first: it locks the row, so that of two that meet here the second sees what the first did.
        cursor.execute(
            f"update {TABLE} set epoch = {hole} where query = {hole} and epoch <= {hole}",
            (self.number, self.query, self.number),
        )
        if cursor.rowcount > 0:
            return
        cursor.execute(f"select epoch from {TABLE} where query = {hole}", (self.query,))
        found = cursor.fetchone()
        if found is None:
            cursor.execute(f"insert into {TABLE} values ({hole}, {hole})", (self.query, self.number))
        elif found[0] > self.number:
            raise FencedOff(f"query {self.query!r}: epoch {self.number} is over, {found[0]} has the sink")


_ASSIGNED: ContextVar[list[SinkEpoch] | None] = ContextVar("headway_epoch", default=None)


def epoch(*stores: Connect) -> SinkEpoch:
    """The epoch of the incarnation that is being built; to be called in a function marked with `@headway.query`.

    `stores` connect to the databases that the query writes. The epoch is raised there as soon as another node takes the
    query over, before it has run a batch.
    """
    assigned = _ASSIGNED.get()
    if assigned is None:
        return SinkEpoch("", None, stores)
    made = SinkEpoch(assigned[0].query, assigned[0].number, stores)
    assigned.append(made)
    return made


def fenced_by(fence: Fence) -> None:
    """A sink of the query that is being built is fenced off like this as soon as another node takes the query over."""
    assigned = _ASSIGNED.get()
    if assigned is not None:
        assigned.append(SinkEpoch(assigned[0].query, assigned[0].number, fences=(fence,)))


@contextmanager
def assigned(query: str, number: int) -> Iterator[list[SinkEpoch]]:
    """What is built in here is of this epoch; the list has what was asked for, after the first."""
    epochs = [SinkEpoch(query, number)]
    token = _ASSIGNED.set(epochs)
    try:
        yield epochs
    finally:
        _ASSIGNED.reset(token)


def _placeholder(connection: Any) -> str:
    module = sys.modules.get(type(connection).__module__.partition(".")[0])
    return "?" if getattr(module, "paramstyle", "qmark") == "qmark" else "%s"
