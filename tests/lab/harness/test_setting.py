"""Settings of a benchmark, and the names in them."""

from headway_lab.harness.setting import policies_named


def test_a_policys_settings_stay_with_it() -> None:
    assert policies_named("klink:confidence=0.9,interval=paper, stock-tuned,fixed-trigger:every_ms=1000") == [
        "klink:confidence=0.9,interval=paper", "stock-tuned", "fixed-trigger:every_ms=1000",
    ]  # fmt: skip
