"""What was set on a DataStreamWriter: Spark has no public way to ask for it."""

from typing import Any


def option_of(writer: Any, name: str) -> str | None:
    """An option, if it was set."""
    options = field_of(writer, "extraOptions")
    found = None if options is None else options.get(name)
    return str(found.get()) if found is not None and found.isDefined() else None


def output_mode(writer: Any) -> str | None:
    """Append, Update or Complete, if it is known."""
    mode = field_of(writer, "outputMode")
    return None if mode is None else str(mode.toString())


def field_of(writer: Any, name: str) -> Any:
    """None if it was not set."""
    try:
        return _field(writer, name).get(writer._jwrite)
    except Exception:  # another Spark keeps it elsewhere: then it counts as not set, and only Spark's own checks are left
        return None


def set_field(writer: Any, name: str, value: Any) -> None:
    """Of a writer that has it."""
    _field(writer, name).set(writer._jwrite, value)


def _field(writer: Any, name: str) -> Any:
    field = writer._jwrite.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field
