"""How queries of one workload differ in size."""

import random
from math import exp, log, sqrt


def size(unequal: float, chance: random.Random) -> float:
    """One query's size over the mean of all: lognormal, as what people write tends to be. `unequal` is the coefficient of
    variation; with 0 all are alike."""
    sigma = sqrt(log(1 + unequal**2))
    return exp(chance.gauss(-(sigma**2) / 2, sigma)) if unequal else 1.0
