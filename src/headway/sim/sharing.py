"""Equal shares, as an operating system gives them."""

import numpy as np

from headway.model.arrays import Floats


def water_fill(need: Floats, whole: float, most: float) -> Floats:
    """Equal shares of `whole` for all that need something, none more than it needs or than `most`."""
    capped = np.minimum(need, most)
    if float(capped.sum()) <= whole:
        return capped
    ordered = np.sort(capped)
    # With level h, those below it get what they need: find the first for which the rest, shared equally, is not enough.
    after = np.arange(len(ordered), 0, -1)
    level = (whole - np.concatenate(([0.0], np.cumsum(ordered)[:-1]))) / after
    return np.asarray(np.minimum(capped, level[int(np.argmax(level <= ordered))]))
