"""What users type, checked: lists, policies, moments, sizes."""

import os
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, SettingError
from headway.loop.journal_file import state_folder
from headway.model.time import WallMs


def whole(key: str, text: str, least: int = 1) -> int:
    if not re.fullmatch(r"\d+", text.strip()) or int(text) < least:
        raise SettingError(key, text, f"a whole number of {least} or more")
    return int(text)


def wholes(key: str, text: str, least: int = 1) -> list[int]:
    """`10,20,40` as numbers."""
    return [whole(key, part, least) for part in text.split(",")]


def share(key: str, text: str) -> float:
    """A number between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise SettingError(key, text, "a share between 0 and 1, such as 0.7")
    return value


def at_least(key: str, value: float, least: float) -> None:
    if value < least:
        raise SettingError(key, value, f"{least:g} or more")


def slots(text: str) -> Any:
    return text if text == "auto" else whole("slots", text)


def memory(text: str) -> str:
    if not re.fullmatch(r"[1-9]\d*[kmgKMG]", text):
        raise SettingError("memory", text, "a size such as 4g or 1500m")
    return text


def cores(count: int | None) -> int:
    if count is not None:
        at_least("cores", count, 1)
    return count or os.cpu_count() or 1


def new_file(key: str, path: Path) -> Path:
    """A file that could be written; its folder must be there."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise SettingError(key, str(path), "a file in a folder that exists")
    return path


def moment(text: str, now: Callable[[], datetime] = datetime.now) -> WallMs:
    """Epoch milliseconds, an ISO time, or a time of today; without a zone it is this machine's own."""
    try:
        if re.fullmatch(r"\d{11,}", text):
            return WallMs(int(text))
        if re.fullmatch(r"\d{1,2}:\d{2}(:\d{2}(\.\d{1,6})?)?", text):
            hour, _, rest = text.partition(":")
            return _local(f"{now().date().isoformat()}T{hour:0>2}:{rest}")
        return _local(text)
    except ValueError:
        raise SettingError("at", text, "HH:MM:SS[.mmm] of today, an ISO time, or epoch milliseconds") from None


def _local(text: str) -> WallMs:
    return WallMs(round(datetime.fromisoformat(text).timestamp() * 1000))


def journal(path: Path | None) -> Path:
    """The journal that was named, or the newest one in the state folder."""
    if path is not None:
        return path
    home = state_folder()
    found = sorted(home.glob("*.db"), key=lambda file: file.stat().st_mtime)
    if not found:
        raise HeadwayError(f"no journal in {home}: name one with --journal, or run something with `headway run` first")
    return found[-1]
