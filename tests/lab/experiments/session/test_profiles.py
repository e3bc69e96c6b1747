"""What a setting gains, and where two lines cross."""

import pytest

from headway.errors import SettingError
from headway_lab.experiments.session import run as profiles
from headway_lab.harness.ledger import Record
from headway_lab.harness.setting import Setting, profile_named

BASE = Setting(queries=20, rate=200)


def record(setting: Setting, seed: int, cpu: float, mean: float = 100.0, rows: int = 600, batches: int = 1) -> Record:
    known = {"queries": setting.queries, "rate": setting.rate, "profile": setting.profile}
    return {"setting": known, "seed": seed, "cpu_batch_ms": cpu, "mean_ms": mean, "rows": rows, "batches": batches}


def test_every_setting_is_left_out_once() -> None:
    names = [s.profile for s in profiles.leave_one_out(BASE)]
    assert names[0] == "tuned"
    assert set(names[1:]) == {f"without {key}" for key in profile_named("tuned")}


def test_a_gain_compares_runs_of_the_same_seed() -> None:
    without = profiles.leave_one_out(BASE)[1]
    records = [
        record(BASE, 1, 50),
        record(BASE, 2, 100),
        record(without, 1, 100),
        record(without, 2, 150),
        record(without, 3, 9),
    ]
    (gain,) = profiles.gains(records, BASE)
    assert (gain.cpu.low, gain.cpu.high, gain.cpu.n) == (1.5, 2.0, 2)


def test_code_pays_from_where_the_lines_cross() -> None:
    plain = profiles.CostLine.through([(1_000.0, 60.0), (10_000.0, 150.0), (100_000.0, 1_050.0)])
    code = profiles.CostLine.through([(1_000.0, 101.0), (10_000.0, 110.0), (100_000.0, 200.0)])
    assert (plain.fixed_ms, plain.per_row_ms) == pytest.approx((50, 0.01))
    assert profiles.crossing(plain, code) == pytest.approx(50 / 0.009)
    assert profiles.crossing(code, plain) is None


def test_one_size_of_batch_makes_no_line() -> None:
    assert profiles.line([record(BASE, 1, 50), record(BASE, 2, 51)], "tuned") is None


@pytest.mark.parametrize("name", ["", "tunedd", "without", "without spark.ui.enabled"])
def test_an_unknown_profile_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match="profile = "):
        profile_named(name)
