"""The ordered merge as Spark calls it: frames and a state come in, a frame of results and the next state go out."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pyspark import cloudpickle

from headway.errors import HeadwayError
from headway.spark.merge_order import SOURCE, TICK, Arrays, Bucket, MergeLayout, MergeStep, advance

STATE = "bucket binary"
_PLAIN = {"number": None, "time": np.int64, "object": object}


@dataclass(frozen=True)
class Merger:
    """What is done with a bucket: to be given to `applyInPandasWithState`."""

    layout: MergeLayout
    step: MergeStep
    output: tuple[str, ...]
    times: frozenset[str]  # which of the results are timestamps

    def __call__(self, key: Any, frames: Iterable[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        if state.exists:
            bucket = unpacked(self.layout, bytes(state.get[0]))
        else:
            bucket = Bucket(self.layout.spread, self.layout.shape)
        new = None if state.hasTimedOut else arrays(self.layout, list(frames))
        watermark_ms = max(0, state.getCurrentWatermarkMs())
        results, bucket = advance(self.layout, self.step, bucket, new, watermark_ms)
        state.update((packed(bucket),))
        state.setTimeoutTimestamp(max(1, watermark_ms))  # with the first watermark above this one
        # Spark puts our frames together, and pandas warns it, for each column that is empty in one of them.
        warnings.filterwarnings("ignore", "The behavior of DataFrame concatenation", FutureWarning)
        if results:
            yield self._frame(results)

    def _frame(self, results: list[Any]) -> pd.DataFrame:
        # As objects: pandas would guess types, and make floats of whole numbers where one is missing.
        frame = pd.DataFrame(results, columns=list(self.output), dtype=object)
        for name in self.times:  # Spark reads only real times in the session's zone; objects it takes for UTC
            frame[name] = pd.Series(np.array(frame[name].tolist(), dtype="datetime64[us]"))
        return frame


def arrays(layout: MergeLayout, frames: list[pd.DataFrame]) -> Arrays | None:
    """The rows of a batch as arrays, without the ticks; their types are the same whatever the batch holds."""
    rows = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    real = rows[SOURCE].to_numpy() != TICK
    if not real.any():
        return None
    kinds = {c.name: _PLAIN[c.kind] for c in layout.columns}
    return {name: rows[name].to_numpy(dtype=kinds.get(name))[real] for name in layout.arrays}


def packed(bucket: Bucket) -> bytes:
    """A bucket as bytes, with the user's own classes where a worker could not import them."""
    plain = (bucket.spread, bucket.shape, bucket.passed_ms, bucket.held, bucket.known)
    data: bytes = cloudpickle.dumps(plain)  # type: ignore[no-untyped-call]
    return data


def unpacked(layout: MergeLayout, data: bytes) -> Bucket:
    """The bucket of a checkpoint; refuses one that was written by a merge with other keys, buckets or columns."""
    bucket = Bucket(*cloudpickle.loads(data))
    if bucket.spread != layout.spread:
        raise HeadwayError(
            f"this checkpoint spreads keys by {bucket.spread}, the query by {layout.spread}: "
            "keep `on` and `buckets` as they were, or start with a new checkpoint"
        )
    if bucket.held is not None and bucket.shape != layout.shape:
        raise HeadwayError(
            f"this checkpoint holds rows with the columns {[c[0] for c in bucket.shape]}, the streams have "
            f"{[c.name for c in layout.columns]} or other types: finish it as it was, or start with a new checkpoint"
        )
    return bucket
