"""A checkpoint's folder, here or anywhere: its files by their names below it."""

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

    def delete(self, name: str) -> None: ...

    def holder(self) -> str | None:
        """Who has its lease, in words; None if nobody has."""
        ...


class LocalFolder:
    """On this machine's disk: no JVM is needed to look at it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self, below: str = "") -> list[str]:
        folder = self._path / below
        return sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []

    def read(self, name: str) -> str | None:
        file = self._path / name
        return file.read_text("utf-8", errors="replace") if file.is_file() else None

    def files(self) -> set[str]:
        return {str(file.relative_to(self._path)) for file in self._path.rglob("*") if not file.is_dir()}

    def delete(self, name: str) -> None:
        file = self._path / name
        if file.is_dir():
            shutil.rmtree(file)
        else:
            file.unlink(missing_ok=True)

    def holder(self) -> str | None:
        return local.holder(self._path)


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

    def delete(self, name: str) -> None:
        self._fs.delete(self._of(name), True)

    def holder(self) -> str | None:
        found = created.run(tenancy.holder(), hadoop_files(self._spark, self._place))
        return None if found is None else f"{found}, unless it has died"

    def _of(self, name: str) -> Any:
        return self._hadoop.Path(self._root, name)


def folder_of(spark: Any, place: str) -> Folder:
    """The folder of a checkpoint as this session would find it."""
    path = local_path(place, default_fs(spark))
    return LocalFolder(path) if path is not None else HadoopFolder(spark, place)
