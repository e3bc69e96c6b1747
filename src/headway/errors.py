"""Errors that a user can fix, and what is told where nothing fails. One line each; a bug keeps its traceback."""

import contextlib
import sys
from collections.abc import Callable


class HeadwayError(Exception):
    """Something the user gave us cannot work, and the message says what to do about it."""


class QueryFailed(HeadwayError):
    """A query has died. The command line exits with 1: nothing that was typed is wrong."""


class SettingError(HeadwayError):
    """One setting has a value that we cannot use."""

    def __init__(self, key: str, got: object, want: str) -> None:
        self.key, self.got, self.want = key, got, want
        super().__init__(f"{key} = {got!r}: expected {want}")


def aloud(text: str) -> None:
    """Tell the user, on the error output; a terminal that is gone is no reason to fail."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"headway: {text}\n")
        sys.stderr.flush()


class ToldOnce:
    """Says what is wrong, but not again for as long as it is the same; an empty text says that nothing is."""

    def __init__(self, say: Callable[[str], None] = aloud) -> None:
        self._say, self._said = say, ""

    def __call__(self, text: str) -> None:
        if text and text != self._said:
            self._say(text)
        self._said = text
