"""Hashes of numbers, the same in numpy as in Spark: generated streams are pure functions of them."""

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Bits = tuple[int, int]  # of a hash: the first one, and how many

P1, P2, P3, P4, P5 = (
    np.uint64(prime)
    for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
)


def xxhash64(seed: int, i: Longs) -> Hashes:
    """Spark's `xxhash64(seed, i)` of two bigints: the hash of the first, begun at 42, begins that of the second."""
    return _hash_long(i, _hash_long(np.array([seed], dtype=np.int64), np.array([42], dtype=np.uint64)))


def _hash_long(value: Longs, start: Hashes) -> Hashes:
    """XXH64 of eight bytes. Arithmetic on uint64 arrays wraps around, as the algorithm wants."""
    h: Hashes = (start + P5 + np.uint64(8)) ^ (_rotate(value.astype(np.int64).view(np.uint64) * P2, 31) * P1)
    h = _rotate(h, 27) * P1 + P4
    h = (h ^ (h >> np.uint64(33))) * P2
    h = (h ^ (h >> np.uint64(29))) * P3
    return h ^ (h >> np.uint64(32))


def _rotate(h: Hashes, by: int) -> Hashes:
    return (h << np.uint64(by)) | (h >> np.uint64(64 - by))


def take_bits(h: Hashes, bits: Bits) -> Longs:
    """These bits of each hash, as a number."""
    first, width = bits
    return ((h >> np.uint64(first)) & np.uint64((1 << width) - 1)).astype(np.int64)
