"""A checkpoint's lock where the disk is full."""

from pathlib import Path

import pytest

from headway.errors import SettingError
from headway.lease.local import LockedLease, holder


def test_a_full_disk_takes_no_checkpoint_away_and_leaves_no_lock_behind(tmp_path: Path) -> None:
    (tmp_path / ".headway.lock").symlink_to("/dev/full")  # where every write finds no room
    lease = LockedLease(tmp_path, str(tmp_path), "query 'books'")
    with pytest.raises(SettingError, match="another process uses it"):
        LockedLease(tmp_path, str(tmp_path), "query 'books'")
    lease.release()
    LockedLease(tmp_path, str(tmp_path), "query 'books'").release()


def test_who_holds_a_checkpoint_is_told(tmp_path: Path) -> None:
    lease = LockedLease(tmp_path, str(tmp_path), "query 'books'")
    with pytest.raises(SettingError, match="query 'books' uses it"):
        LockedLease(tmp_path, str(tmp_path), "query 'films'")
    lease.release()


def test_who_holds_it_can_be_asked_without_touching_anything(tmp_path: Path) -> None:
    assert holder(tmp_path) is None and list(tmp_path.iterdir()) == []
    lease = LockedLease(tmp_path, str(tmp_path), "query 'books'")
    assert holder(tmp_path) == "query 'books'"
    lease.release()
    assert holder(tmp_path) is None
