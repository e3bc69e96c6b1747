"""Where the controller of a script lives: it may fail and begin anew, or be lost with its driver."""

from typing import Protocol

from headway.model.decision import OrderPolicy
from headway.model.message import Message
from headway.model.status import QueryStatus, RuntimeStatus
from headway.model.time import WallMs
from headway.policy.load import order_policy

POLLING_MS = 10  # Spark's pause after it has found nothing to do


class PlayedController(Protocol):
    """What a script needs of a controller."""

    policy: OrderPolicy

    def take(self, message: Message) -> None: ...
    def turn(self) -> WallMs: ...
    def rebuild(self, trouble: str) -> object: ...
    def status(self) -> RuntimeStatus: ...


class ControllerHost:
    """Brings messages to the controller. While it begins anew they wait; while there is none they are lost."""

    def __init__(self, policy: str) -> None:
        self.policy = policy  # by its name
        self.controller: PlayedController | None = None
        self._waiting: list[Message] | None = None  # messages, while the controller begins anew

    @property
    def works(self) -> bool:
        """There is a controller, and it takes messages."""
        return self.controller is not None and self._waiting is None

    @property
    def polling_ms(self) -> int:
        """Policies that let all queries through at once would poll a hundred times a second, and a script take seconds."""
        return POLLING_MS if self.policy in ("klink", "response-ratio") else 25 * POLLING_MS

    def tell(self, message: Message) -> None:
        if self._waiting is not None:
            self._waiting.append(message)
        elif self.controller is not None:
            self.controller.take(message)

    def turn(self) -> WallMs | None:
        """The controller decides; returns when it wants to again, by its own clock. None if it cannot now."""
        return self.controller.turn() if self.controller is not None and self._waiting is None else None

    def change_policy(self, name: str) -> None:
        self.policy = name
        if self.controller is not None:
            self.controller.policy = order_policy(name)

    def fail(self) -> None:
        """From now on messages wait."""
        self._waiting = []

    def rebuild(self) -> list[Message]:
        """It begins anew; returns the messages that have waited, which it has to be told now."""
        assert self.controller is not None
        waited, self._waiting = self._waiting or [], None
        self.controller.rebuild("the script says so")
        return waited

    def lose(self) -> None:
        """Nothing is left of it, nor of the messages that wait."""
        self.controller, self._waiting = None, None

    def counts(self) -> tuple[QueryStatus, ...]:
        """What users are told of each query."""
        return () if self.controller is None else tuple(self.controller.status().queries)
