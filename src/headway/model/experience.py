"""What a query has learnt of its costs, rates and delays: plain numbers, so that another driver can go on from them."""

from dataclasses import dataclass

Pairs = tuple[tuple[float, float], ...]  # of a histogram: (delay in ms, rows)


@dataclass(frozen=True, slots=True)
class CostSums:
    """The sums behind the straight line through the batches seen: `estimate.costs.BatchCost`."""

    weight: float
    rows: float
    took: float
    rows_rows: float
    rows_took: float


@dataclass(frozen=True, slots=True)
class TailExperience:
    """The buckets of one partition's delays that hold rows; an adaptive patience goes by them."""

    part: int
    buckets: Pairs  # (number of the bucket, rows)
    longest_ms: float


@dataclass(frozen=True, slots=True)
class InputExperience:
    """One input. Inputs are known again by their place: names that the user did not give differ from driver to driver."""

    rows_per_s: float
    seen_ms: float
    means: tuple[float, ...]  # of the delay, epoch by epoch
    squares: tuple[float, ...]
    histograms: tuple[Pairs, ...]
    tails: tuple[TailExperience, ...] = ()


@dataclass(frozen=True, slots=True)
class Experience:
    """A query's whole experience."""

    cost: CostSums
    selectivity: float
    inputs: tuple[InputExperience, ...]
