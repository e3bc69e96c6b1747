"""The figures of the Spark driver itself, processor time and memory, and how many tasks its executors run at once."""

from typing import Any

import psutil


class DriverGauge:
    """Reads the driver's JVM. In local mode that is where all tasks run as well; on a cluster it only plans and commits."""

    def __init__(self, spark: Any) -> None:
        jvm = spark._jvm
        self._context = spark.sparkContext
        self._process = psutil.Process(jvm.java.lang.ProcessHandle.current().pid())
        self._runtime = jvm.java.lang.Runtime.getRuntime()
        pools = jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
        # The young generation is full of garbage most of the time; what fills the old one is there to stay.
        old = [pool for pool in pools if "Old" in pool.getName() or "Tenured" in pool.getName()]
        self._old = old[0] if old else None
        self._most = int(self._runtime.maxMemory())
        self._used = 0.0

    def cpu_ms(self) -> float:
        try:
            times = self._process.cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system) * 1000

    def memory_used(self) -> float:
        try:
            self._used = self._memory_used()
        except Exception:  # a JVM that is gone, or going: figures are no reason to fail
            return self._used
        return self._used

    def parallelism(self) -> int | None:
        # Not `defaultParallelism`: that is 2 with one core left, or whatever spark.default.parallelism is set to.
        try:
            spark = self._context._jsc.sc()
            return int(spark.maxNumConcurrentTasks(spark.resourceProfileManager().defaultResourceProfile())) or None
        except Exception:
            return None

    @property
    def planning_cores(self) -> int | None:
        """The driver's own cores, where tasks run on others; None in local mode."""
        return None if self._context.master.startswith("local") else int(self._runtime.availableProcessors())

    def _memory_used(self) -> float:
        if self._old is None:
            return int(self._runtime.totalMemory() - self._runtime.freeMemory()) / self._most
        return int(self._old.getUsage().getUsed()) / self._most
