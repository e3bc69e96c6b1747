"""The controller outlives its errors: one query is put aside, or the controller begins anew, and says so."""

import contextlib
import threading
import traceback
from collections.abc import Callable
from typing import Protocol

from headway.errors import aloud
from headway.loop.controller import Controller
from headway.loop.trouble import QueryTrouble, says
from headway.model.decision import OrderPolicy
from headway.model.message import Stood
from headway.model.status import RuntimeStatus
from headway.model.time import WallMs

OFTEN, WITHIN_MS = 3, 60_000  # so many beginnings within so long are one too many
BUSY_S = 2.0  # for which a look waits for a controller that decides


class GateLines(Protocol):
    """The gate, as the supervision sees it."""

    def asked_again(self) -> None:
        """Post what every query that waits has asked, once more."""
        ...

    def put_aside(self, query: str, why: str) -> None:
        """This query goes on ungated."""
        ...

    def close(self) -> None:
        """All queries go on ungated."""
        ...


class Supervision:
    """Runs a controller on a thread of its own, and handles its errors as long as they can be handled."""

    def __init__(
        self, controller: Controller, lines: GateLines, plain: OrderPolicy, say: Callable[[str], None] = aloud
    ) -> None:
        """`plain` is the policy that takes over from one that keeps failing."""
        self.controller, self._lines, self._plain, self._say = controller, lines, plain, say
        self._rebuilt: list[WallMs] = []
        self._told = controller.status()
        self.thread = threading.Thread(target=self.run, name="headway-controller", daemon=True)

    def start(self) -> None:
        self.thread.start()

    def stop(self, timeout_s: float = 10) -> None:
        self.controller.stop()
        if self.thread.ident is not None:
            self.thread.join(timeout_s)

    def drain(self, timeout_s: float, query: str | None = None, stood: Callable[[Stood], None] | None = None) -> bool:
        """As the controller's `drain`. True at once where the controller has ended: then no batch is granted."""
        return not self.thread.is_alive() or self.controller.drain(timeout_s, query, stood)

    def status(self) -> RuntimeStatus:
        """How things stand; as of the last look if the controller is busy."""
        if self.thread.is_alive():
            self._told = self.controller.look(BUSY_S) or self._told
        else:
            self._told = self.controller.status()
        return self._told

    def run(self) -> None:
        wait_s: float | None = 1.0
        while wait_s is not None:
            try:
                wait_s = self.controller.step(wait_s)
            except BaseException as error:
                if not self._handled(error):
                    return
                wait_s = 0.0  # what has come meanwhile is taken in before anything is decided

    def _handled(self, error: BaseException) -> bool:
        """Handle an error of the controller; False if it cannot be handled."""
        for _ in range(4 * OFTEN):  # what is done about it may fail as well
            try:
                if isinstance(error, QueryTrouble):
                    self._put_aside(error)
                    return True
                if not self._may_begin_anew(error):
                    break
                for trouble in self.controller.rebuild(says(error)):
                    self._put_aside(trouble)
                self._lines.asked_again()
                return True
            except BaseException as another:
                error = another
        with contextlib.suppress(Exception):
            self._give_up(error)
        return False

    def _put_aside(self, trouble: QueryTrouble) -> None:
        traceback.print_exception(trouble.__cause__ or trouble)
        self._say(f"query {trouble.query!r} is put aside and goes on ungated, the others stay: {trouble.why}")
        self.controller.put_aside(trouble.query, trouble.why)
        self._lines.put_aside(trouble.query, trouble.why)

    def _may_begin_anew(self, error: BaseException) -> bool:
        traceback.print_exception(error)
        controller, now = self.controller, self.controller.clock.now()
        self._rebuilt = [at for at in self._rebuilt if now - at < WITHIN_MS]
        if len(self._rebuilt) >= OFTEN:
            if controller.policy is self._plain:
                return False
            name, plain = type(controller.policy).__name__, type(self._plain).__name__
            self._say(f"{name} has failed too often: {plain} decides from now on")
            controller.policy = self._plain
            controller.kernel.journal.note(now, "", f"{name} has failed too often: {plain} decides from now on")
            self._rebuilt = []
        self._rebuilt.append(now)
        self._say(f"the controller has failed ({says(error)}) and begins anew")
        return True

    def _give_up(self, error: BaseException) -> None:
        """Fail open: hang up, so that every query goes on."""
        self._say(f"the controller has failed for good ({says(error)}): all queries go on ungated")
        self._lines.close()
        self.controller.trouble = says(error)
        for name in list(self.controller.queries):
            self.controller.put_aside(name, f"the controller has failed: {says(error)}")
