"""The laboratory's jar is built from the sources beside it."""

import zipfile
from pathlib import Path

from headway_lab import jvm


def test_the_labs_jar_is_built_from_the_sources_beside_it() -> None:
    with zipfile.ZipFile(jvm.JAR) as archive:
        manifest = archive.read("META-INF/MANIFEST.MF").decode()
        classes = {Path(name).stem.split("$")[0] for name in archive.namelist() if name.endswith(".class")}
    assert f"Sources-SHA-256: {jvm.digest()[:32]}" in manifest, "the Java sources have changed: run `make jar`"
    assert classes == {source.stem for source in jvm.SOURCES} != set()
