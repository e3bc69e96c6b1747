"""Records of the fleet as text and back: JSON with the version of its kind, read by the types of its fields.

A record is a frozen dataclass of numbers, texts, enumerations, tuples, mappings by text, and other such dataclasses. A field
that is not written takes its default; one that we do not know was written by a newer version.
"""

import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints
from urllib.parse import quote, unquote

from headway.errors import HeadwayError, SettingError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shelf(Generic[T]):
    """Where the records of one kind are: their folder, their type, and the version of their text."""

    name: str
    kind: type[T]
    version: int = 1


@dataclass(frozen=True, slots=True)
class Stored(Generic[T]):
    """A record as it was read."""

    record: T
    version: int  # of its node: a change of it names this one
    epoch: int  # of the leadership that has written it; 0 where none has


def dumps(shelf: Shelf[T], record: T, epoch: int = 0) -> str:
    value = {"v": shelf.version, "kind": shelf.name, "epoch": epoch, "is": _plain(record)}
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def loads(shelf: Shelf[T], text: str, where: str) -> tuple[T, int]:
    """The record, and the epoch it was written in. `where` it was read is named in the error, which is one line."""
    try:
        raw = json.loads(text)
        version, kind, epoch, value = raw["v"], raw["kind"], raw["epoch"], raw["is"]
    except (ValueError, KeyError, TypeError):
        raise HeadwayError(f"{where}: not a record of Headway: {text[:60]!r}") from None
    if kind != shelf.name:
        raise HeadwayError(f"{where}: a record of {kind!r}, where one of {shelf.name!r} was expected")
    if version != shelf.version:
        raise HeadwayError(
            f"{where}: version {version!r} of {kind}, and this Headway knows version {shelf.version}: "
            f"use the version of Headway that has written it"
        )
    try:
        return _typed(shelf.kind, value), int(epoch)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise HeadwayError(f"{where}: not a record of {kind}, version {version}: {error}") from None


def node_name(key: str) -> str:
    """A key as the name of one node: it may have slashes, dots and spaces."""
    if not key:
        raise SettingError("name", key, "one that is not empty")
    quoted = quote(key, safe="")
    return quoted.replace(".", "%2E") if quoted in (".", "..") else quoted


def key_of(name: str) -> str:
    return unquote(name)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.init}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} is nothing that a record may have")


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _typed(kind: Any, raw: Any) -> Any:
    """The value of this type that was written so."""
    kind = getattr(kind, "__supertype__", kind)  # WallMs is a number
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _one_of(inner, raw)
    if origin is Literal:
        if raw not in inner:
            raise ValueError(f"{raw!r} is none of {', '.join(map(str, inner))}")
        return raw
    if origin is tuple:
        each = [inner[0]] * len(raw) if len(inner) == 2 and inner[1] is Ellipsis else inner
        return tuple(_typed(kind, value) for kind, value in zip(each, raw, strict=True))
    if origin is not None and issubclass(origin, Mapping):
        return {key: _typed(inner[1], value) for key, value in raw.items()}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(raw)
    return _record(kind, raw) if is_dataclass(kind) else _number_or_text(kind, raw)


def _one_of(kinds: tuple[Any, ...], raw: Any) -> Any:
    if raw is None and type(None) in kinds:
        return None
    (kind,) = (kind for kind in kinds if kind is not type(None))  # a choice between two records could not be told apart
    return _typed(kind, raw)


def _record(kind: Any, raw: Any) -> Any:
    known = {f.name: f for f in fields(kind) if f.init}
    if beyond := raw.keys() - known.keys():
        raise ValueError(f"{kind.__name__} has no {', '.join(sorted(beyond))}")
    needed = {name for name, f in known.items() if f.default is MISSING and f.default_factory is MISSING}
    if lacking := needed - raw.keys():
        raise ValueError(f"{kind.__name__} lacks {', '.join(sorted(lacking))}")
    hints = _hints(kind)
    return kind(**{name: _typed(hints[name], value) for name, value in raw.items()})


def _number_or_text(kind: Any, raw: Any) -> Any:
    if kind is float and isinstance(raw, int) and not isinstance(raw, bool):
        return float(raw)
    if type(raw) is not kind:
        raise ValueError(f"{raw!r} is no {kind.__name__}")
    return raw
