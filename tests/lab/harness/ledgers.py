"""Ledger records for tests, made by hand."""

from dataclasses import asdict
from typing import Any

from headway_lab.harness.setting import Setting


def record(policy: str, mean_ms: float, seed: int = 1, setting: Setting | None = None, **more: Any) -> dict[str, Any]:
    """A run in which every latency is the mean, and the tail twice that."""
    quantiles = [mean_ms] * 20 + [2 * mean_ms] * 2
    return {
        "id": f"{policy}-{seed}", "when": "2026-01-01T00:00:00+00:00", "commit": "abc1234", "kind": "live",
        "versions": {"headway": "0.1.0", "pyspark": "4.3.0", "python": "3.11.7", "java": "17.0.1"},
        "host": {"cpus": 2, "memory_gb": 24}, "experiment": "klink", "policy": policy,
        "setting": asdict(setting or Setting(queries=40, rate=200)), "seed": seed, "windows": 400, "mean_ms": mean_ms,
        "p50_ms": mean_ms, "p90_ms": mean_ms, "p99_ms": 2 * mean_ms, "max_ms": 2 * mean_ms, "quantiles_ms": quantiles,
        "unfinished": 0, "batches": 500, "rows": 240_000, "late_rows": 0, "wrong": 0, "cpu_ms": 30_000.0, "batch_ms": 100.0,
        "decide_ms": 60.0, "slots": 3, **more,
    }  # fmt: skip
