"""What goes wrong with one query, told apart from what goes wrong with all."""

from headway.model.message import Asked, BatchSeen, Failed, Gone, Learnt, Message, Resumed, Stalled, Started, Unreadable
from headway.model.secrets import without_secrets


class QueryTrouble(Exception):
    """An error about one query; the cause says which. The other queries go on as before."""

    def __init__(self, query: str) -> None:
        self.query = query
        super().__init__(query)

    @property
    def why(self) -> str:
        return says(self.__cause__ or self)


TRACEBACK = "Traceback (most recent call last):"


def says(error: BaseException) -> str:
    """An error in one line, without secrets that it echoes: pages, journals and metrics have it from here."""
    return without_secrets(_says(error))


def _says(error: BaseException) -> str:
    """Spark's errors bring their whole plan along; their first line says what they are about, unless the user's Python
    raised: then the end of its traceback does. A first line that ends in a colon only announces the cause."""
    text, _, python = str(error).rpartition(TRACEBACK)
    # Frames are indented; what was raised is not.
    lines = [line for line in (python.splitlines() if text else str(error).splitlines()) if line.strip()]
    told = next((line.strip() for line in lines if not (text and line[0].isspace())), "")
    if text and told:
        return told
    cause = getattr(error, "_cause", None) or error.__cause__  # PySpark has the cause of Java's errors in the former
    if told.endswith(":") and isinstance(cause, BaseException):
        return _says(cause)
    return f"{type(error).__name__}: {told}" if told else type(error).__name__


def about(message: Message) -> str | None:
    """The one query that a message is about."""
    match message:
        case Started(spec=spec):
            return spec.name
        case Asked(query=name) | BatchSeen(query=name) | Gone(query=name) | Failed(query=name):
            return name
        case Stalled(query=name) | Resumed(query=name) | Unreadable(query=name) | Learnt(query=name):
            return name
        case _:
            return None
