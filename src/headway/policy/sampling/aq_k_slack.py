"""AQ-K-slack: as patient, and a sample as large, as half of the error each allows (our reading of Aion's rival)."""

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from headway.estimate.sample_size import needed_each
from headway.model.sampling import Sampling, StreamView
from headway.policy.sampling.promise import LEAST_KNOWN, Promise, unknown


@dataclass(frozen=True, slots=True)
class AQKSlack(Promise):
    """Wait until the rows that are missing are no more than half of the error; sample for the other half.

    Its error function is that of a sum whatever is asked, and Chebyshev's instead of the normal curve's: nothing is assumed
    of the values, and the sample is several times as large.
    """

    def decide(self, seen: StreamView) -> Sampling:
        if seen.known < LEAST_KNOWN:
            return self.all_of(seen, unknown(seen))
        half = self.error / 2
        wait = self.least_wait(seen.window_arrived, 1 - half, seen)
        parts = (np.array([x]) for x in (seen.window_rows, seen.value_mean, seen.value_sd))
        of = "count" if self.of == "count" else "sum"
        size = float(needed_each(*parts, error=half, z=1 / sqrt(1 - self.confidence), of=of)[0])
        share = min(1.0, size / max(seen.window_rows, 1e-9))
        some = f"{size:,.0f} of {seen.window_rows:,.0f} rows, {share:.1%}"
        because = f"{some}; waits {wait} ms until no more than {half:.1%} are missing"
        return Sampling(share, (1.0,) * seen.places, wait, because, needed=ceil(size))
