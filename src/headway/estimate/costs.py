"""What a batch costs: a fixed part and a part per row, learnt online."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BatchCost:
    """A straight line through (rows, milliseconds) of the batches seen, old ones fading by `keep` at each new one.

    With little spread in the rows a slope is guesswork, so it is drawn towards `prior_per_row_ms` with the weight of
    batches that spread over `prior_rows` rows.
    """

    keep: float = 0.9
    prior_per_row_ms: float = 0.005
    prior_rows: float = 1000.0
    weight: float = 0.0
    rows: float = 0.0
    took: float = 0.0
    rows_rows: float = 0.0
    rows_took: float = 0.0

    def add(self, rows: float, took_ms: float) -> "BatchCost":
        k = self.keep
        return BatchCost(
            k, self.prior_per_row_ms, self.prior_rows,
            k * self.weight + 1, k * self.rows + rows, k * self.took + took_ms,
            k * self.rows_rows + rows * rows, k * self.rows_took + rows * took_ms,
        )  # fmt: skip

    @property
    def per_row_ms(self) -> float:
        if not self.weight:
            return self.prior_per_row_ms
        spread = self.rows_rows - self.rows**2 / self.weight + self.prior_rows**2
        slope = self.rows_took - self.rows * self.took / self.weight + self.prior_per_row_ms * self.prior_rows**2
        # A batch never gets cheaper by having more rows: a negative slope is noise.
        ceiling = self.took / self.rows if self.rows else self.prior_per_row_ms
        return min(max(0.0, slope / spread), ceiling)

    @property
    def fixed_ms(self) -> float | None:
        """None before the first batch."""
        if not self.weight:
            return None
        return max(1.0, (self.took - self.per_row_ms * self.rows) / self.weight)
