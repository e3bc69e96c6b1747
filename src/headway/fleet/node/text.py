"""Values as JSON and back: frozen dataclasses made of numbers, texts, tuples and one another.

What comes from elsewhere is held against the types, field by field. Anything else than what is declared is refused in one
line that says where it is: a field that is missing, one that is unknown, a text where a number belongs.
"""

import json
import types
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, partial
from itertools import chain
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from headway.errors import HeadwayError

T = TypeVar("T")
Reader = Callable[[Any, str], Any]  # of what JSON says, and where it stands
WORDS: dict[type, str] = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", type(None): "null"}
PLAIN = frozenset(WORDS)
MOST_SHOWN = 60  # letters of what was got instead


class Malformed(HeadwayError):
    """A text that is not what it should be."""


def written(value: Any) -> str:
    """The JSON of a value."""
    return json.dumps(_plain(value), separators=(",", ":"), allow_nan=False)


def read(kind: type[T], text: str | bytes) -> T:
    """The value of this kind in a text. Raises Malformed."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed(f"{kind.__name__}: expected JSON") from None
    value: T = made(kind, raw)
    return value


def made(kind: Any, raw: Any, where: str = "") -> Any:
    """The value of this kind in what JSON says."""
    return _reader(kind)(raw, where)


def _plain(value: Any) -> Any:
    if type(value) in PLAIN:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(getattr(value, name)) for name in _form(type(value)).readers}
    if isinstance(value, tuple | list):
        return value if set(map(type, value)) <= PLAIN else [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value


@dataclass(frozen=True, slots=True)
class _Form:
    """What is declared of a dataclass, worked out once: a status has some two hundred fields, and many come each second."""

    readers: dict[str, Reader]  # by field
    needed: tuple[str, ...]  # fields without a default
    at_once: dict[str, frozenset[type]]  # by field: the types that are taken as they come


@cache
def _form(kind: type) -> _Form:
    hints, declared = get_type_hints(kind), fields(kind)
    needed = tuple(f.name for f in declared if f.default is MISSING and f.default_factory is MISSING)
    own = {f.name: hints[f.name] for f in declared}
    return _Form({name: _reader(h) for name, h in own.items()}, needed, {name: _at_once(h) for name, h in own.items()})


def _at_once(hint: Any) -> frozenset[type]:
    """Numbers, texts and null, where one is declared. At everything else its reader has a closer look."""
    hint = getattr(hint, "__supertype__", hint)
    if get_origin(hint) in (Union, types.UnionType):
        return frozenset[type]().union(*map(_at_once, get_args(hint)))
    return frozenset({hint}) if isinstance(hint, type) and hint in PLAIN else frozenset()


def _reader(kind: Any) -> Reader:
    kind = getattr(kind, "__supertype__", kind)  # a NewType, such as WallMs
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        return partial(_object, kind)
    if origin in (Union, types.UnionType):
        # `X | None`: other unions are told apart by nothing.
        (one,) = [each for each in inner if each is not type(None)]
        return partial(_perhaps, _reader(one))
    if origin is Literal:
        return partial(_one_of, inner)
    if origin is tuple and inner[1:] == (Ellipsis,):
        width = len(get_args(inner[0])) if set(get_args(inner[0])) == {float} else 0
        return partial(_rows, width, _reader(inner[0])) if width else partial(_many, _reader(inner[0]))
    if origin is tuple:
        return partial(_some, tuple(map(_reader, inner)))
    if origin is dict:
        return partial(_by_name, _reader(inner[1]))
    return NUMBER if kind is float else partial(_number_or_text, kind)


def _object(kind: type, raw: Any, where: str) -> Any:
    where = where or kind.__name__
    if not isinstance(raw, dict):
        raise _wrong(where, raw, "an object")
    form = _form(kind)
    if not raw.keys() <= form.readers.keys():
        unknown = min(map(str, raw.keys() - form.readers.keys()))
        raise Malformed(f"{where}.{unknown[:MOST_SHOWN]} is no field that we know")
    for name in form.needed:
        if name not in raw:
            raise Malformed(f"{where}.{name} is missing")
    readers, at_once = form.readers, form.at_once
    return kind(**{
        name: one if type(one) in at_once[name] else readers[name](one, f"{where}.{name}") for name, one in raw.items()
    })  # fmt: skip


def _perhaps(reader: Reader, raw: Any, where: str) -> Any:
    return None if raw is None else reader(raw, where)


def _one_of(known: tuple[Any, ...], raw: Any, where: str) -> Any:
    if raw not in known:
        raise _wrong(where, raw, f"one of {', '.join(map(str, known))}")
    return raw


def _many(reader: Reader, raw: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(raw, list):
        raise _wrong(where, raw, "a list")
    if reader is NUMBER and set(map(type, raw)) <= {float}:
        return tuple(raw)
    return tuple(reader(one, f"{where}[{n}]") for n, one in enumerate(raw))


def _rows(width: int, reader: Reader, raw: Any, where: str) -> tuple[Any, ...]:
    """Of numbers, so many each: what a query has learnt has a thousand of them, and a move waits for it."""
    plain = isinstance(raw, list) and set(map(type, raw)) <= {list} and set(map(len, raw)) <= {width}
    if plain and set(map(type, chain.from_iterable(raw))) <= {float}:
        return tuple(map(tuple, raw))
    return _many(reader, raw, where)


def _some(readers: tuple[Reader, ...], raw: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(raw, list):
        raise _wrong(where, raw, "a list")
    if len(readers) != len(raw):
        raise _wrong(where, raw, f"a list of {len(readers)}")
    return tuple(reader(one, f"{where}[{n}]") for n, (reader, one) in enumerate(zip(readers, raw, strict=True)))


def _by_name(reader: Reader, raw: Any, where: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise _wrong(where, raw, "an object")
    return {key: reader(one, f"{where}.{key}") for key, one in raw.items()}


def _number_or_text(kind: Any, raw: Any, where: str) -> Any:
    if type(raw) is kind:
        return raw
    fits = isinstance(raw, int | float) if kind is float else isinstance(raw, kind)
    if not fits or (isinstance(raw, bool) and kind is not bool):
        raise _wrong(where, raw, WORDS.get(kind, str(kind)))
    return float(raw) if kind is float else raw


NUMBER = partial(_number_or_text, float)


def _wrong(where: str, raw: Any, want: str) -> Malformed:
    return Malformed(f"{where} = {_short(raw)}: expected {want}")


def _short(raw: Any) -> str:
    text = repr(raw)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
