"""Where sites are drawn: as near to each other as they are on the network, whatever a globe says of them."""

import numpy as np

from headway.model.arrays import Floats

APART = 0.14  # of the longer side of the map: sites that are nearer would hide one another
ROUNDS = 120
STRETCHED = 2.0


def positions(latency_ms: Floats) -> list[tuple[float, float]]:
    """For each site (x, y) within 0 and 1, by classical scaling of the latencies: the same area gives the same map."""
    n = len(latency_ms)
    if n < 2:
        return [(0.5, 0.5)] * n
    # Long ways are drawn shorter than they are: what is near to what is what a map is looked at for.
    far = np.sqrt((latency_ms + latency_ms.T) / 2)
    np.fill_diagonal(far, 0.0)
    centred = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centred @ (far**2) @ centred)
    order = np.argsort(values)[::-1][:2]
    at = vectors[:, order] * np.sqrt(np.maximum(values[order], 0.0))
    at = np.column_stack([at, np.zeros((n, 2 - at.shape[1]))]) if at.shape[1] < 2 else at
    at *= np.where(at[0] > 0, -1.0, 1.0)  # the first site is to the left and above: a mirror image would say the same
    at += 1e-3 * np.column_stack([np.cos(np.arange(n)), np.sin(np.arange(n))])  # none lies upon another
    return [(float(x), float(y)) for x, y in _within(_spread(_within(at, 1.0)), STRETCHED).round(4)]


def _within(at: Floats, stretched: float) -> Floats:
    """From 0 to 1. The shorter side is stretched, as the screen wants it, but no further than told."""
    low, size = at.min(axis=0), at.max(axis=0) - at.min(axis=0)
    span = np.maximum(size, max(size.max() / stretched, 1e-9))
    return np.asarray((at - low) / span + (1 - size / span) / 2)


def _spread(at: Floats) -> Floats:
    """Those that are too near push one another away."""
    for _ in range(ROUNDS):
        between = at[:, None, :] - at[None, :, :]
        far = np.linalg.norm(between, axis=2) + np.eye(len(at))
        push = np.where(far < APART, (APART - far) / far / 2, 0.0)
        np.fill_diagonal(push, 0.0)
        if not push.any():
            break
        at = at + (between * push[:, :, None]).sum(axis=1)
    return at
