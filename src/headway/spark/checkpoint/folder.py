"""A checkpoint's folder, here or anywhere: its files by their names below it."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError

from headway.lease import created, local, tenancy
from headway.spark.lease import default_fs, hadoop_files, local_path


class Folder(Protocol):
    """A checkpoint's folder."""

    def names(self, below: str = "") -> list[str]:
        """Of files and folders directly in it, or in a folder in it; none if that is not there."""
        ...

    def read(self, name: str) -> str | None:
        """A file's text; None if it is not there."""
        ...

    def files(self) -> set[str]:
        """All files, however deep."""
        ...

    def sizes(self) -> dict[str, int]:
        """All files, however deep, and how many bytes they have."""
        ...

    def read_bytes(self, name: str) -> bytes:
        """A file that is there."""
        ...

    def put(self, name: str, text: str, *, new: bool) -> bool:
        """Write a small file as a whole; a `new` one only if it is not there, else False."""
        ...

    def delete(self, name: str) -> None:
        """A file, a folder in it, or the whole of it by an empty name."""
        ...

    def holder(self) -> str | None:
        """The holder of its lease, in words; None if there is none."""
        ...


class LocalFolder:
    """On this machine's disk: no JVM is needed to look at it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self, below: str = "") -> list[str]:
        folder = self.path / below
        return sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []

    def read(self, name: str) -> str | None:
        file = self.path / name
        return file.read_text("utf-8", errors="replace") if file.is_file() else None

    def files(self) -> set[str]:
        return {str(file.relative_to(self.path)) for file in self.path.rglob("*") if not file.is_dir()}

    def sizes(self) -> dict[str, int]:
        found = {}
        for file in self.path.rglob("*"):
            with contextlib.suppress(FileNotFoundError):  # Spark tidies up while we look
                if not file.is_dir():
                    found[str(file.relative_to(self.path))] = file.stat().st_size
        return found

    def read_bytes(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def put(self, name: str, text: str, *, new: bool) -> bool:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        half = file.with_name(f".{file.name}.{os.getpid()}.tmp")
        half.write_text(text, "utf-8")
        try:
            if new:
                os.link(half, file)
            else:
                half.replace(file)
        except FileExistsError:
            return False
        finally:
            half.unlink(missing_ok=True)
        return True

    def delete(self, name: str) -> None:
        file = self.path / name
        if file.is_dir():
            shutil.rmtree(file)
        else:
            file.unlink(missing_ok=True)

    def holder(self) -> str | None:
        return local.holder(self.path)


class HadoopFolder:
    """Wherever Hadoop's file systems reach."""

    def __init__(self, spark: Any, place: str) -> None:
        self._place, self._spark = place, spark
        self._hadoop = spark._jvm.org.apache.hadoop.fs
        self._root = self._hadoop.Path(place)
        self._fs = self._root.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())

    def names(self, below: str = "") -> list[str]:
        folder = self._of(below) if below else self._root
        try:
            found = self._fs.listStatus(folder)
        except Py4JJavaError as error:
            if error.java_exception.getClass().getName() == "java.io.FileNotFoundException":
                return []
            raise
        return sorted(str(status.getPath().getName()) for status in found)

    def read(self, name: str) -> str | None:
        if not self._fs.exists(self._of(name)):
            return None
        stream = self._fs.open(self._of(name))
        try:
            return bytes(stream.readAllBytes()).decode("utf-8", errors="replace")
        finally:
            stream.close()

    def files(self) -> set[str]:
        return set(self._walk())

    def _walk(self) -> Iterator[str]:
        root = self._fs.makeQualified(self._root).toString().rstrip("/") + "/"
        found = self._fs.listFiles(self._root, True)
        while found.hasNext():
            yield str(found.next().getPath().toString()).removeprefix(root)

    def sizes(self) -> dict[str, int]:
        root = self._fs.makeQualified(self._root).toString().rstrip("/") + "/"
        if not self._fs.exists(self._root):
            return {}
        found, sizes = self._fs.listFiles(self._root, True), {}
        while found.hasNext():
            status = found.next()
            sizes[str(status.getPath().toString()).removeprefix(root)] = int(status.getLen())
        return sizes

    def read_bytes(self, name: str) -> bytes:
        stream = self._fs.open(self._of(name))
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def put(self, name: str, text: str, *, new: bool) -> bool:
        try:
            stream = self._fs.create(self._of(name), not new)
        except Py4JJavaError:
            if new and self._fs.exists(self._of(name)):
                return False
            raise
        stream.write(text.encode())
        stream.close()
        return True

    def copy(self, name: str, to: "HadoopFolder") -> None:
        """One file, written by the JVM."""
        conf = self._spark._jsparkSession.sessionState().newHadoopConf()
        done = self._hadoop.FileUtil.copy(self._fs, self._of(name), to._fs, to._of(name), False, True, conf)
        if not done:
            raise OSError(f"{name} could not be copied")

    def delete(self, name: str) -> None:
        self._fs.delete(self._of(name) if name else self._root, True)

    def holder(self) -> str | None:
        found = created.run(tenancy.holder(), hadoop_files(self._spark, self._place))
        return None if found is None else f"{found}, unless it has died"

    def _of(self, name: str) -> Any:
        return self._hadoop.Path(self._root, name)


def folder_of(spark: Any, place: str) -> Folder:
    """The folder of a checkpoint as this session would find it."""
    path = local_path(place, default_fs(spark))
    return LocalFolder(path) if path is not None else HadoopFolder(spark, place)
