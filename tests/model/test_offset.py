"""One offset after another: by a controller's decision, and by rows alone."""

from headway.model.offset import ControlOffset, Sampled


def test_the_next_offset_counts_on_and_its_watermark_never_goes_back() -> None:
    start = ControlOffset(4, 9_000, live=True, version=1)
    assert start.next(12_000, live=False) == ControlOffset(5, 12_000)
    assert start.next(6_000, live=True) == ControlOffset(5, 9_000, live=True)


def test_what_an_old_offset_leads_to_is_written_in_today_s_version() -> None:
    assert ControlOffset(version=1).next(0, live=False).version == ControlOffset().version == 2


def test_by_rows_no_clock_rules_and_all_of_a_window_is_there() -> None:
    taken = Sampled(share=200_000, seen=900_000, unsure=10_000, arrived=(950_000,), keys=((-7, 1_000),))
    start = ControlOffset(4, 9_000, live=True, sampled=taken)
    end = start.by_rows(12_000)
    assert (end.seq, end.wm, end.live) == (5, 12_000, False)
    assert end.sampled == Sampled(share=200_000, arrived=(950_000,), keys=((-7, 1_000),))
    assert start.by_rows(None).wm == start.by_rows(3_000).wm == 9_000
    assert ControlOffset(1).by_rows(5).sampled is None
