"""Claims: statements written down before they are measured.

How a claim's value is computed is named by its `metric` (`metrics.py`); what the ledger says of it is in `verdicts.py`.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Literal

Unit = Literal["ratio", "share", "count", "ms", "MB", "s", "us", "ns"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement with the bounds that its value has to keep to."""

    id: str
    says: str
    paper: str
    setting: str
    metric: str
    bounds: tuple[float, float] = (0.0, 0.0)
    experiment: str = "klink"
    candidate: str = "klink"
    baselines: tuple[str, ...] = ()  # the best of them counts
    field: str = "mean_ms"
    at: tuple[Mapping[str, Any], ...] = ()  # settings; all must be measured, the greatest value of them counts
    unit: Unit = "ratio"
    judged: Literal["median", "worst", "pooled"] = "median"  # over the seeds; a guarantee never by the median
    over: str = "seed"  # what is repeated: seeds, or something that settings differ in, such as environments
    weight: str = ""  # the field with the number of trials behind a share that is pooled
    width: str = ""  # the field with the width of the interval whose coverage is claimed
    spark: bool = True  # whether Spark takes part in what is not simulated
    paths: tuple[str, ...] = ()  # globs of the code that the figure depends on, or names of groups in paths.toml
    fitted: str = ""  # what the simulator was fitted to, if that is the very thing claimed: then it shows nothing
    reason: str = ""  # our reading, should it not be reproduced or not be measured
    sim: Mapping[str, Any] | None = None  # what is different when simulated; None if that is not claimed

    @property
    def guarantee(self) -> bool:
        return self.judged != "median"

    @property
    def globs(self) -> tuple[str, ...]:
        """The paths with groups written out."""
        return tuple(dict.fromkeys(glob for path in self.paths for glob in groups().get(path, (path,))))


def load() -> list[Claim]:
    """The claims of all experiments, by their ids."""
    books = [folder / "claims.toml" for folder in files("headway_lab.experiments").iterdir()]
    return sorted((_claim(item) for book in books if book.is_file() for item in _toml(book)["claim"]), key=_by_id)


def _by_id(claim: Claim) -> tuple[str, int, str]:
    """K9 before K10, and K1b after K1."""
    letter, number, rest = re.fullmatch(r"([A-Z]+)(\d+)(\w*)", claim.id).groups()  # type: ignore[union-attr] # load fails
    return letter, int(number), rest


@cache
def groups() -> dict[str, tuple[str, ...]]:
    """Globs that many claims have in common, by name."""
    return {name: tuple(globs) for name, globs in _toml(files("headway_lab.harness") / "paths.toml").items()}


def _toml(file: Traversable) -> dict[str, Any]:
    return tomllib.loads(file.read_text("utf-8"))


def _claim(item: dict[str, Any]) -> Claim:
    return Claim(**_tuples(item) | ({"sim": _tuples(item["sim"])} if "sim" in item else {}))


def _tuples(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in item.items()}
