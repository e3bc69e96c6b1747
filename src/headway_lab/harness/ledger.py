"""The ledger: one JSON line per measurement, with the commit, the versions and the host it was made with.

Lines are only ever appended. A process killed while it wrote leaves a torn last line, which readers pass over.
"""

import json
import os
import platform
import subprocess
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

import headway
from headway.errors import HeadwayError
from headway.java import java_version
from headway_lab.harness.checkout import git

LEDGER = Path("bench/ledger.jsonl")  # unless told
Record = dict[str, Any]
RecordKey = tuple[str, str, str, str, int, str]


class Ledger:
    """Appends to a ledger file and reads it back."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def append(
        self,
        experiment: str,
        policy: str,
        setting: Mapping[str, Any],
        seed: int,
        measures: Mapping[str, Any],
        kind: str = "live",
    ) -> Record:
        """Write one measurement down, safe on disk when this returns."""
        record: Record = {
            "id": uuid.uuid4().hex[:12],
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            **origin(),
            "kind": kind,
            "experiment": experiment,
            "policy": policy,
            "setting": dict(setting),
            "seed": seed,
            **measures,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            # After a torn line a new one would be lost with it, so it is ended first.
            torn = file.seek(0, os.SEEK_END) > 0 and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n"
            file.write((b"\n" if torn else b"") + json.dumps(record).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        return record

    def records(self) -> list[Record]:
        """All whole lines, oldest first; none if there is no such file yet."""
        if not self.path.exists():
            return []
        try:
            lines = self.path.read_text("utf-8", errors="replace").splitlines()
        except OSError as error:
            raise HeadwayError(f"ledger = {str(self.path)!r}: expected a file that can be read ({error.strerror})") from None
        found = [record for line in lines if (record := _parsed(line)) is not None]
        if not found and len(lines) > 1:
            raise HeadwayError(
                f"ledger = {str(self.path)!r}: expected a ledger of `headway bench`, but it is some other file"
            )
        return found

    def of_this_commit(self, experiment: str, settings: Iterable[Mapping[str, Any]] | None = None) -> list[Record]:
        """What was measured with the code as it is now, at these settings or at all; the last, if it was measured again."""
        here = origin()["commit"]
        own = [r for r in newest(self.records()) if r["experiment"] == experiment and r["commit"] == here]
        wanted = None if settings is None else [dict(setting) for setting in settings]
        return [record for record in own if wanted is None or record["setting"] in wanted]

    def done(self) -> set[RecordKey]:
        """What has been measured, so that a resumed benchmark passes over it."""
        return {key_of(record) for record in self.records()}


def _parsed(line: str) -> Record | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and {"experiment", "policy", "setting", "seed"} <= record.keys() else None


# "live" is with Spark, "sim" in virtual time or on generated figures, "no-spark" a program of ours alone. Lines of these
# experiments say "live" if they are older than the distinction.
WITHOUT_SPARK = {"coverage": "sim", "gate-read": "no-spark", "gate-join": "no-spark"}


def kind_of(record: Mapping[str, Any]) -> str:
    """How a record was measured."""
    return WITHOUT_SPARK.get(record["experiment"], str(record["kind"]))


def key_of(record: Mapping[str, Any]) -> RecordKey:
    """Two records with the same key measure the same thing."""
    return key(record["experiment"], record["policy"], record["setting"], record["seed"], record["commit"], record["kind"])


def key(experiment: str, policy: str, setting: Mapping[str, Any], seed: int, commit: str, kind: str = "live") -> RecordKey:
    return kind, experiment, policy, json.dumps(dict(setting), sort_keys=True), seed, commit


def newest(records: Iterable[Record]) -> list[Record]:
    """Of records with the same key only the last: to measure again is to replace."""
    return list({key_of(record): record for record in records}.values())


def newest_of_each(records: Iterable[Record], policies: Iterable[str]) -> list[Record]:
    """One of each policy, in the order of the policies."""
    by_policy = {record["policy"]: record for record in records}
    return [by_policy[policy] for policy in policies if policy in by_policy]


@lru_cache
def origin() -> dict[str, Any]:
    """Where measurements of this process come from."""
    packages = {name: _version(name) for name in ("headway", "pyspark")}
    return {
        "commit": commit(),
        "versions": packages | {"python": platform.python_version(), "java": java_version()},
        "host": {"cpus": os.cpu_count(), "memory_gb": round(psutil.virtual_memory().total / 2**30)},
    }


def commit() -> str:
    """The commit of this package's source, with a '+' if it was changed since; 'unknown' outside a repository.

    Only the two packages count: a ledger kept in the same repository changes with every line, and would else never match.
    """
    package = Path(headway.__file__).parent
    try:
        git(package, "ls-files", "--error-unmatch", "__init__.py")  # installed inside some other project: not its commit
        head = git(package, "rev-parse", "--short", "HEAD")
        return head + ("+" if git(package.parent, "status", "--porcelain", "--", "headway", "headway_lab") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
