"""A control offset as text: what stands in Spark's offset log, and goes over a line.

    {"version": 2, "seq": 7, "wm": 3000, "live": 1}
    {"version": 2, "seq": 8, "wm": 3000, "live": 1, "sampled": {"share": 200000, .., "arrived": [950000], "keys": {"-7": 9}}}

Version 1 had no version in it, and all names beside each other: `at0` for the first of `arrived`, `k_m7` for the key -7. It
is still read, and written again as it was. `ControlOffset.java` does the same; `tests/golden/control_offsets.json` holds the
two together. This module is pickled by value, so it needs nothing but the standard library and the model's offset.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from headway.model.offset import VERSION, ControlOffset, Sampled

OffsetFields = dict[str, Any]  # the text as `json` reads it, which is how Spark hands offsets to sources in Python
_PLAIN = ("share", "seen", "unsure", "z", "widest")
_TIMES = ("sub_ms", "every_ms", "first_ms")
_OLD_TIMES = ("sub", "every", "first")
_LEAST, _MOST = -(2**63), 2**63 - 1  # what the JVM can hold
_KEY, _OLD_KEY = re.compile(r"-?[0-9]+"), re.compile(r"k_(m?[0-9]+)")


class NewerOffset(ValueError):
    """Written by a Headway that is newer than this one."""

    def __init__(self, version: int) -> None:
        super().__init__(
            f"with a control offset of version {version}, and this Headway reads versions up to {VERSION}:"
            " start the query with the Headway that wrote its checkpoint, or with a newer one"
        )


def text_of(offset: ControlOffset) -> str:
    return json.dumps(fields_of(offset))


def offset_in(text: str | bytes) -> ControlOffset:
    """Raises ValueError, saying what is wrong with it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"with what is no JSON: {text[:80]!r}") from None
    return offset_of(found)


def fields_of(offset: ControlOffset) -> OffsetFields:
    head: OffsetFields = {"seq": offset.seq, "wm": offset.wm, "live": int(offset.live)}
    if offset.version == 1:
        return head if offset.sampled is None else head | _old_sampled(offset.sampled)
    head = {"version": offset.version, **head}
    return head if offset.sampled is None else {**head, "sampled": _sampled(offset.sampled)}


def offset_of(fields: Any) -> ControlOffset:
    """Raises ValueError, saying what is wrong with them."""
    if not isinstance(fields, dict):
        raise ValueError(f"with what is no offset: {str(fields)[:80]!r}")
    version = _whole(fields, "version") if "version" in fields else 1
    if version > VERSION:
        raise NewerOffset(version)
    if version < 1:
        raise ValueError(f"with version = {version}, which there never was")
    for name in ("seq", "wm", "live", *(name for name in fields if name != "sampled" or version == 1)):
        _whole(fields, name)
    sampled = _old_sampled_in(fields) if version == 1 else _sampled_in(fields.get("sampled"))
    return ControlOffset(fields["seq"], fields["wm"], fields["live"] != 0, sampled, version)


def _sampled(told: Sampled) -> OffsetFields:
    plain = {name: getattr(told, name) for name in (*_PLAIN, *_TIMES)}
    return {**plain, "arrived": list(told.arrived), "keys": {str(key): share for key, share in told.keys}}


def _sampled_in(fields: Any) -> Sampled | None:
    if fields is None:
        return None
    arrived, keys = (fields.get(name) if isinstance(fields, dict) else None for name in ("arrived", "keys"))
    if not isinstance(arrived, list) or not isinstance(keys, dict) or not all(map(_KEY.fullmatch, keys)):
        raise ValueError(f"with sampled = {str(fields)[:80]!r}, which says not what is taken")
    plain = {name: _whole(fields, name) for name in (*_PLAIN, *_TIMES)}
    places = dict(enumerate(arrived))
    shares = tuple((_within(int(key), "keys"), _whole(keys, key)) for key in keys)
    return Sampled(**plain, arrived=tuple(_whole(places, place) for place in places), keys=shares)


def _old_sampled(told: Sampled) -> OffsetFields:
    return {
        **{name: getattr(told, name) for name in _PLAIN},
        **{f"at{place}": share for place, share in enumerate(told.arrived)},
        **{f"k_{key}".replace("-", "m"): share for key, share in told.keys},
        **{old: getattr(told, name) for old, name in zip(_OLD_TIMES, _TIMES, strict=True)},
    }


def _old_sampled_in(fields: OffsetFields) -> Sampled | None:
    if "seen" not in fields:
        return None
    plain = {name: fields[name] for name in _PLAIN if name in fields}
    times = {name: fields[old] for old, name in zip(_OLD_TIMES, _TIMES, strict=True) if old in fields}
    times.setdefault("every_ms", times.get("sub_ms", 1))
    places = [fields[f"at{place}"] for place in range(len(fields)) if f"at{place}" in fields]
    named = [(found[1], share) for name, share in fields.items() if (found := _OLD_KEY.fullmatch(name))]
    keys = tuple((_within(int(key.replace("m", "-")), "keys"), share) for key, share in named)
    return Sampled(**plain, **times, arrived=tuple(places), keys=keys)


def _whole(fields: Mapping[Any, Any], name: Any) -> int:
    value = fields.get(name)
    if type(value) is not int:
        raise ValueError(f"with {name} = {str(value)[:80]!r}, which is no whole number")
    return _within(value, name)


def _within(value: int, name: Any) -> int:
    if not _LEAST <= value <= _MOST:
        raise ValueError(f"with {name} = {str(value)[:80]}, which does not fit 64 bits")
    return value
