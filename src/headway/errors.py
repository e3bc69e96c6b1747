"""Errors that a user can fix. The command line prints one line and exits with 2; a bug keeps its traceback."""


class HeadwayError(Exception):
    """Something the user gave us cannot work, and the message says what to do about it."""


class QueryFailed(HeadwayError):
    """A query has died. The command line exits with 1: nothing that was typed is wrong."""


class SettingError(HeadwayError):
    """One setting has a value that we cannot use."""

    def __init__(self, key: str, got: object, want: str) -> None:
        self.key, self.got, self.want = key, got, want
        super().__init__(f"{key} = {got!r}: expected {want}")
