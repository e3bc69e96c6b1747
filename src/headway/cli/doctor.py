"""`headway doctor`: does this machine have what is needed?"""

import os
import socket
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import psutil
import typer

import headway
from headway.cli import screen
from headway.java import java_problem, java_version
from headway.loop.journal_file import state_folder
from headway.model.check import Check

MEMORY_GB = 2


def doctor(
    job: Annotated[
        bool,
        typer.Option(
            "--job", help="Print the path of a job that looks at a session: spark-submit ... $(headway doctor --job)"
        ),
    ] = False,
) -> None:
    """Look at Java, Python, packages, memory, cores, sockets and folders; one line each."""
    if job:
        typer.echo(str(Path(headway.__file__).parent / "spark" / "checkup_job.py"))
        return
    found = [look() for look in CHECKS]
    for check in found:
        mark = "[green]ok     [/]" if check.ok else "[red]problem[/]"
        screen.out.print(f"{mark}  {check.name:<8}  {check.says}", soft_wrap=True, highlight=False)
    if not all(check.ok for check in found):
        raise typer.Exit(2)


def _java() -> Check:
    problem = java_problem()
    return Check("java", problem is None, problem or java_version())


def _python() -> Check:
    has = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= (3, 11)
    return Check("python", ok, has if ok else f"{has}: 3.11 or later is needed")


def _package(name: str, below: int | None = None) -> Callable[[], Check]:
    def look() -> Check:
        try:
            import_module(name)
            has = version(name)
        except ImportError as error:
            return Check(name, False, f"cannot be imported ({error}): pip install headway brings it")
        if below is not None and int(has.split(".")[0]) >= below:
            return Check(name, False, f"{has}: PySpark needs one below {below}; pip install 'pandas<{below}'")
        return Check(name, True, has)

    return look


def _memory() -> Check:
    free = psutil.virtual_memory().available / 2**30
    says = f"{free:.1f} GB free of {psutil.virtual_memory().total / 2**30:.1f}"
    return Check(
        "memory", free >= MEMORY_GB, says if free >= MEMORY_GB else f"{says}: a driver wants {MEMORY_GB} GB or more"
    )


def _cores() -> Check:
    return Check("cores", True, str(os.cpu_count()))


def _socket() -> Check:
    """The gate and its queries talk over a socket on this machine."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), timeout=5):
            return Check("socket", True, "127.0.0.1 listens and answers")
    except OSError as error:
        return Check("socket", False, f"127.0.0.1 does not let us connect ({error.strerror}): allow loopback connections")


def _state() -> Check:
    """Where journals go. Where the user has no folder for them there is one for temporary files."""
    try:
        folder = state_folder()
        with tempfile.TemporaryFile(dir=folder):
            return Check("journal", True, f"{folder} can be written")
    except OSError as error:
        says = f"{error.filename or tempfile.gettempdir()} cannot be written ({error.strerror})"
        return Check("journal", False, f"{says}: set XDG_STATE_HOME to a folder that can")


CHECKS: list[Callable[[], Check]] = [
    _java, _python, _package("pyspark"), _package("pyarrow"), _package("pandas", below=3), _memory, _cores, _socket, _state,
]  # fmt: skip
