"""Views by campaign: the Yahoo benchmark's question, of a sample.

A window has some fifty views of each campaign, too few to leave any out. What is bounded is the error of the window's total;
each campaign's count has the wider bound that it deserves.
"""

from typing import Any, ClassVar

import numpy as np

from headway_lab.workloads.approximate.question import BY, RATE, ExactAnswer, WindowQuestion, exact_struct, shown
from headway_lab.workloads.approximate.settings import StreamSetting, stream
from headway_lab.workloads.hashing import Longs
from headway_lab.workloads.sql import entry
from headway_lab.workloads.ysb import EVENT_TYPES


class SampledViews(WindowQuestion):
    """Views per window and campaign."""

    value: ClassVar[str] = "view"
    of: ClassVar[str] = "sum"
    words: ClassVar[str] = "views in a window"
    adds_up: ClassVar[bool] = True

    @classmethod
    def over(cls, setting: StreamSetting, rate: int, window_ms: int, seed: int, epoch_ms: int) -> "SampledViews":
        return cls(stream(setting, rate, seed, epoch_ms), window_ms, window_ms)

    def rows(self, events: Any) -> Any:
        return events.selectExpr(*BY, "if(event_type = 'view', 1, 0) as view")

    def query(self, rows: Any, approx: Any) -> Any:
        # The campaign is looked up where only views of the sample are left.
        rate = [RATE] if RATE in rows.columns else []
        campaign = f"{entry(self.stream.campaign_of, 'cast(ad_id as int)')} as campaign_id"
        by_campaign = (
            rows.where("view = 1").selectExpr(self.window, campaign, *rate).groupBy("window", "campaign_id")
        )  # fmt: skip
        if rate:
            return shown(by_campaign.agg(approx.count().alias("answer")), "campaign_id")
        counted = by_campaign.count().selectExpr("window", "campaign_id", exact_struct("count", "count"))
        return shown(counted, "campaign_id")

    def of_window(self, events: tuple[Longs, Longs, Longs]) -> dict[str, ExactAnswer]:
        _, ad, kind = events
        campaign = self.stream.campaign_of[ad[kind == EVENT_TYPES.index("view")]]
        counts = np.bincount(campaign, minlength=self.stream.campaigns)
        return {str(c): ExactAnswer(float(n), n) for c, n in enumerate(counts.tolist()) if n}
