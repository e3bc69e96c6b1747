"""What Headway would spare, by the simulator, and how far that can be believed."""

from dataclasses import replace

from headway.advice.advice import size, span
from headway.advice.history import ProgressReport
from headway.advice.report import Advice
from headway.advice.saving import price, saving
from headway_lab.experiments.advice.made_jobs import MadeQuery, job

CROWDED = [
    MadeQuery(
        f"q{i}", every_ms=1_450, took_ms=1_400, rows=1_450, period_ms=3_000, delay_ms=500, late_ms=300, trigger_ms=0, seed=i
    )
    for i in range(12)
]  # fmt: skip


def test_queries_that_crowd_each_other_gain_and_the_simulator_knows_the_job_as_it_is() -> None:
    found = saving(job(*CROWDED, cores=2))
    assert found is not None
    assert abs(found.error) < 0.35 and found.headway_ms < 0.5 * found.seen_ms and found.batches < 0.7


def test_nothing_is_said_of_a_job_without_windows_or_of_unknown_size() -> None:
    few = job(replace(CROWDED[0], batches=5), cores=2)
    assert saving(few) is None and "cannot be said" in Advice.on(few).text()


def test_the_price_of_a_batch_is_found_in_its_rows() -> None:
    reports = [ProgressReport(i, "r", i * 1_000, 50 + rows // 100, rows, {}) for i, rows in enumerate([1_000, 9_000] * 20)]
    found = price(reports)
    assert abs(found.per_row_ms - 0.01) < 0.001 and abs(found.fixed_ms - 50) < 2


def test_names_of_queries_are_harmless_on_a_page_and_two_lines_are_shown_where_they_pay() -> None:
    advice = Advice.on(job(*(replace(q, name=f"<script>{q.name}") for q in CROWDED), cores=2))
    page = advice.page()
    assert "<script>q1" not in page and "&lt;script&gt;q1" in page
    assert "rt.watermark" in page and "rt.watermark" in advice.text()


def test_durations_and_sizes_are_said_as_people_do() -> None:
    assert [span(ms) for ms in (20, 1_500, 180_000, 7_300_000)] == ["20 ms", "1.5 s", "3 min", "2.0 h"]
    assert [size(count) for count in (5, 5_000, 5_000_000, 5e9)] == ["5 B", "5 kB", "5 MB", "5.0 GB"]
