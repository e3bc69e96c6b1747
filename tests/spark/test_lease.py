"""A checkpoint's lock where the disk is full."""

from pathlib import Path

import pytest

from headway.errors import SettingError
from headway.spark.lease import Lease


def test_a_full_disk_takes_no_checkpoint_away_and_leaves_no_lock_behind(tmp_path: Path) -> None:
    (tmp_path / ".headway.lock").symlink_to("/dev/full")  # where every write finds no room
    lease = Lease(str(tmp_path), "books")
    with pytest.raises(SettingError, match="another process uses it"):
        Lease(str(tmp_path), "books")
    lease.release()
    Lease(str(tmp_path), "books").release()


def test_who_holds_a_checkpoint_is_told(tmp_path: Path) -> None:
    lease = Lease(str(tmp_path), "books")
    with pytest.raises(SettingError, match="query 'books' of process"):
        Lease(str(tmp_path), "films")
    lease.release()
