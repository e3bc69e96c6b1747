"""A folder as a query with RocksDB leaves it: tables that are packed already, logs that are not, and small files."""

import json
from pathlib import Path

import numpy as np

MB = 1_000_000
TABLE, LOG = "sst", "log"
PACKED = 0.5  # of the bytes: tables, which RocksDB has compressed


def written(folder: Path, seed: int, megabytes: int) -> None:
    """Files of a megabyte each."""
    rng = np.random.default_rng(seed)
    state = folder / "state" / "0" / "0"
    state.mkdir(parents=True)
    for number in range(megabytes):
        kind = TABLE if number < megabytes * PACKED else LOG
        (state / f"{number:06d}.{kind}").write_bytes(_content(rng, kind))
    for name in ("offsets", "commits"):
        (folder / name).mkdir()
        for batch in range(20):
            (folder / name / str(batch)).write_text(json.dumps({"batch": batch, "watermark": 1_000 * batch}))


def changed(folder: Path, seed: int, share: float) -> int:
    """As compaction does it: so many of the bytes go, and as many come under other names. How many files that were."""
    rng = np.random.default_rng(10_000 + seed)
    state = folder / "state" / "0" / "0"
    files = sorted(state.iterdir())
    chosen = [files[n] for n in rng.choice(len(files), max(1, round(share * len(files))), replace=False)]
    for number, file in enumerate(chosen, len(files)):
        kind = file.suffix[1:]
        file.unlink()
        (state / f"{number:06d}.{kind}").write_bytes(_content(rng, kind))
    (folder / "commits" / "20").write_text("{}")
    return len(chosen)


def _content(rng: np.random.Generator, kind: str) -> bytes:
    if kind == TABLE:
        return rng.bytes(MB)
    keys, counts = rng.integers(0, 100_000, MB // 50), rng.integers(0, 1_000, MB // 50)
    rows = (f'{{"campaign": "c-{key}", "window": 1700000000, "views": {n}}}\n' for key, n in zip(keys, counts, strict=True))
    return "".join(rows).encode()[:MB].ljust(MB)
