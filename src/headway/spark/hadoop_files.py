"""Lease files on any file system that Hadoop knows, by its own classes in Spark's JVM."""

from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JJavaError

PREFIX = ".headway.lease."  # Spark ignores files that begin with a dot


class HadoopFiles:
    """The lease files in one folder."""

    def __init__(self, jvm: Any, conf: Any, folder: str) -> None:
        """`conf` is Hadoop's, as the session has it."""
        self._path = jvm.org.apache.hadoop.fs.Path
        self._folder = self._path(folder)
        self._fs = self._folder.getFileSystem(conf)

    def numbers(self) -> list[int]:
        try:
            found = self._fs.listStatus(self._folder)
        except Py4JJavaError as error:
            if _is(error, "java.io.FileNotFoundException"):  # the first query makes the folder
                return []
            raise
        names = [str(status.getPath().getName()) for status in found]
        numbers = (name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX))
        return sorted(int(number) for number in numbers if number.isdigit())

    def read(self, number: int) -> str | None:
        try:
            stream = self._fs.open(self._of(number))
            try:
                return bytes(stream.readAllBytes()).decode("utf-8", errors="replace")
            finally:
                stream.close()
        except Py4JJavaError as error:
            # HDFS says the latter of a file whose writer died before it wrote anything.
            if _is(error, "java.io.FileNotFoundException") or not self._fs.exists(self._of(number)):
                return None
            if self._fs.getFileStatus(self._of(number)).getLen() == 0:
                return ""
            raise

    def create(self, number: int, text: str) -> bool:
        """HDFS refuses a second one when it is created, an object store when it is closed, each with an error of its own:
        so the file itself says which holder it belongs to."""
        try:
            self._put(number, text, overwrite=False)
        except Py4JJavaError:
            found = self.read(number)
            if found is None:
                raise
            return found == text
        return True

    def write(self, number: int, text: str) -> None:
        self._put(number, text, overwrite=True)

    def delete(self, number: int) -> None:
        self._fs.delete(self._of(number), False)

    def _of(self, number: int) -> Any:
        return self._path(self._folder, f"{PREFIX}{number}")

    def _put(self, number: int, text: str, overwrite: bool) -> None:
        stream = self._fs.create(self._of(number), overwrite)
        try:
            stream.write(text.encode())
        except Py4JJavaError:
            with suppress(Py4JJavaError):
                stream.close()
            raise
        stream.close()


def _is(error: Py4JJavaError, name: str) -> bool:
    return bool(error.java_exception.getClass().getName() == name)
