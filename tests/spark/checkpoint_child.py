"""A process with a JVM of its own that writes checkpoint files against another: `checkpoint_child.py FOLDER WHO NAMES`.

It writes all files but for their names, says `ready`, and reads from its input when to begin. Then it gives them their
names, one by one, at moments that its rival goes by too, and puts out the names it has won as JSON.
"""

import json
import random
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from headway.spark import jvm

REFUSAL = "org.apache.hadoop.fs.FileAlreadyExistsException"
THREADS = 4  # more than there are cores: some are interrupted between a question and its answer
APART_S = 0.002  # from name to name, by the clock: of two that run freely one is ahead and never meets the other
WARM = 100
LEAD_S = 0.0003  # at most, of one before the other, by chance


def gateway() -> Any:
    """A JVM that ends with this process; it has Spark's classes and ours, and no Spark session."""
    jars = Path(pyspark.__file__).parent / "jars"
    (py4j,) = jars.glob("py4j-*.jar")
    brief = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    port = launch_gateway(jarpath=str(py4j), classpath=f"{jvm.JAR}:{jars}/*", die_on_exit=True, javaopts=brief)
    return JavaGateway(gateway_parameters=GatewayParameters(port=port)).jvm


def closing(java: Any) -> Any:
    """Makes of a stream a task that closes it: a loop in Python would be too slow to meet another process."""
    java_lang = java.java.lang
    invoke = java_lang.invoke
    kind = invoke.MethodType.methodType(java_lang.Void.TYPE)
    close = invoke.MethodHandles.publicLookup().findVirtual(java_lang.Class.forName("java.io.Closeable"), "close", kind)
    task = java_lang.Class.forName("java.util.concurrent.Callable")
    return lambda stream: invoke.MethodHandleProxies.asInterfaceInstance(task, close.bindTo(stream))


def main(folder: Path, who: str, names: int) -> None:
    java = gateway()
    path = java.org.apache.hadoop.fs.Path
    files = java.headway.LocalCheckpoints(path(str(folder)), java.org.apache.hadoop.conf.Configuration())
    task = closing(java)

    def prepared(place: Path) -> Any:
        stream = files.createAtomic(path(str(place)), False)
        stream.write(who.encode())
        stream.flush()
        return task(stream)

    for _ in range(WARM):  # to lose for the first time takes a second: Spark wants to log it
        with suppress(Py4JJavaError):
            prepared(folder / f"warm-{who}").call()
    tasks = [prepared(folder / str(name)) for name in range(names)]
    pool = java.java.util.concurrent.Executors.newScheduledThreadPool(THREADS)
    print("ready", flush=True)
    begin = float(sys.stdin.readline())
    microseconds = java.java.util.concurrent.TimeUnit.MICROSECONDS
    ends, dice = [], random.Random(who)
    for name, close in enumerate(tasks):
        due = begin + name * APART_S + dice.uniform(0, LEAD_S) - time.time()
        ends.append(pool.schedule(close, int(due * 1e6), microseconds))
    won = []
    for name, done in enumerate(ends):
        try:
            done.get()
            won.append(name)
        except Py4JJavaError as error:
            if error.java_exception.getCause().getClass().getName() != REFUSAL:
                raise
    print(json.dumps(won), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
