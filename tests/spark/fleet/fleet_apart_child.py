"""`headway`, but each node that it starts has a disk of its own for checkpoints: `fleet_apart_child.py fleet up ...`"""

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from headway.cli.app import main
from headway.servers import process

# What runs behind these words has the first folder in place of the second.
OWN_DISK = ("unshare", "-m", "sh", "-c", 'mount --make-rprivate / && mount --bind "$0" "$1" && shift && exec "$@"')
LAUNCHED = process.launched


def apart(
    command: Sequence[str], folder: Path, *, ends_with_parent: bool, how: signal.Signals = signal.SIGTERM
) -> "subprocess.Popen[bytes]":
    if "node" not in command:
        return LAUNCHED(command, folder, ends_with_parent=ends_with_parent, how=how)
    disk, checkpoints = folder / "disk", folder.parent / "checkpoints"
    for made in (disk, checkpoints):
        made.mkdir(exist_ok=True)
    return LAUNCHED([*OWN_DISK, str(disk), str(checkpoints), *command], folder, ends_with_parent=ends_with_parent, how=how)


if __name__ == "__main__":
    process.launched = apart
    sys.exit(main(sys.argv[1:]))
