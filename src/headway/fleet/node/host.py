"""The port between a node's door and what runs queries: all that the one asks of the other."""

from typing import Protocol

from headway.errors import HeadwayError
from headway.fleet.node.wire import CommandReceipt, HostedQuery, NodeCommand


class NotHosted(HeadwayError):
    """This node has no such query."""


class Declined(HeadwayError):
    """What was asked for cannot be done, and nothing has changed."""


class QueryHost(Protocol):
    """Hosts queries. Commands about one query come one after the other, those about several at the same time."""

    def obey(self, command: NodeCommand) -> CommandReceipt:
        """Do it and answer. Raises NotHosted, Declined, or another HeadwayError that says why not."""
        ...

    def hosted(self) -> tuple[HostedQuery, ...]:
        """Every query, as it stands. Asked once a second, so it must cost little."""
        ...

    def heap(self) -> float:
        """The share of the driver's heap that is in use."""
        ...

    def look_around(self) -> None:
        """What is to be done from time to time, without being asked to."""
        ...
