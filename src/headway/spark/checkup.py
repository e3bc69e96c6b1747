"""What would work in a session as it is, what would not, and which line to change: `hw.doctor(spark)`.

To be run where the real jobs run, with their options: `spark-submit OPTIONS... $(headway doctor --job)`.
"""

from collections.abc import Callable, Iterator
from typing import Any

from headway.errors import HeadwayError, SettingError
from headway.model.check import Check
from headway.spark import jvm
from headway.spark.lease import default_fs
from headway.spark.profile import INTERPRETED, NEED_JAR, PARTITIONS, chosen, usual
from headway.spark.supported import supported

MANAGER, LEAN = NEED_JAR
EXTENSIONS = "spark.sql.extensions"


def doctor(spark: Any, say: Callable[[str], None] = print) -> list[Check]:
    """Look at a session and say one line on each thing that matters to Headway. Nothing is changed."""
    found = list(_checks(spark))
    for check in found:
        say(f"{'ok     ' if check.ok else 'problem'}  {check.name:<11}  {check.says}")
    return found


def _checks(spark: Any) -> Iterator[Check]:
    try:
        supported(spark)
    except SettingError as error:
        yield Check("spark", False, str(error))
        return
    context = spark.sparkContext
    yield Check("spark", True, f"{spark.version}, master {context.master}, {context.defaultParallelism} tasks at once")
    present = jvm.present(spark)
    yield Check("jar", present, "on the class path" if present else _WITHOUT)
    yield _manager(spark, present)
    yield _lean(spark, present)
    yield _partitions(spark)
    yield _code(spark)
    place = default_fs(spark)
    yield Check("file system", True, f"paths without a scheme are on {place}")
    yield _gate(spark)


_WITHOUT = (
    "not on the class path of this JVM: control rows come from a Python process per query, of about 90 MB; "
    "add --jars $(headway jar) to spark-submit, or use hw.tune(SparkSession.builder) where no JVM runs yet"
)


def _setting(spark: Any, key: str) -> str:
    """What holds for a query that `rt.start` starts: the session's own word, or ours."""
    return chosen(spark, usual(spark)).get(key) or str(spark.conf.get(key, "") or "")


def _manager(spark: Any, present: bool) -> Check:
    named = _setting(spark, MANAGER)
    if named == jvm.CHECKPOINTS:
        says = "local ones are written without starting processes"
        return Check("checkpoints", present, says if present else f"{MANAGER} = {named}, but the jar is missing: unset it")
    says = f"written by {named or 'Hadoop'}; on a local disk that starts a process per file: leave {MANAGER} to Headway"
    return Check("checkpoints", True, says)


def _lean(spark: Any, present: bool) -> Check:
    on = jvm.EXTENSIONS in str(spark.conf.get(EXTENSIONS, "")) and _setting(spark, LEAN) == "true"
    if on:
        return Check("plans", present, "lean" if present else f"{EXTENSIONS} names {jvm.EXTENSIONS}, but the jar is missing")
    return Check("plans", True, f"as Spark makes them; with {jvm.EXTENSIONS} and {LEAN}=true a batch costs a tenth less")


def _partitions(spark: Any) -> Check:
    count = _setting(spark, PARTITIONS)
    if count == "1":
        return Check("partitions", True, "1: a batch is one task, and queries run side by side")
    says = f"{count}: a batch has as many tasks, after a shuffle; for small batches set {PARTITIONS}=1 before a query is new"
    return Check("partitions", True, says)


def _code(spark: Any) -> Check:
    interpreted = all(_setting(spark, key) == value for key, value in INTERPRETED.items())
    if interpreted:
        return Check("code", True, "interpreted: right for batches of up to about 100,000 rows")
    return Check("code", True, "generated, anew for every batch: right from about 100,000 rows a batch")


def _gate(spark: Any) -> Check:
    """The two lines themselves, but for a query."""
    from headway.spark.runtime import Runtime

    try:
        with Runtime(spark) as rt:
            return Check("runtime", True, f"starts, and writes its journal to {rt.journal_path}")
    except HeadwayError as error:
        return Check("runtime", False, str(error))
