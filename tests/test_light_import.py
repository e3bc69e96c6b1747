"""`import headway` is light: nothing of Spark, of figures or of the command line comes with it."""

import json
import subprocess
import sys

LATER = {"pyspark", "py4j", "pandas", "numpy", "scipy", "pyarrow", "sklearn", "typer", "rich", "psutil"}
LOOK = "import json, sys; there = {*sys.modules}; %s; print(json.dumps(sorted({*sys.modules} - there)))"


def loaded(code: str) -> set[str]:
    """The modules that come with some code, in a Python of its own."""
    run = subprocess.run([sys.executable, "-c", LOOK % code], capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(run.stdout))


def test_to_import_headway_loads_the_standard_library_and_itself() -> None:
    """Under 0.3 s of processor time, whatever else is installed: what counts that on a busy machine is what it loads."""
    modules = loaded("import headway")
    assert {name.partition(".")[0] for name in modules} - sys.stdlib_module_names == {"headway"}
    assert {name for name in modules if name.startswith("headway")} == {"headway"}


def test_names_that_need_no_spark_load_none() -> None:
    names = "headway.HeadwayError, headway.SettingError, headway.query, headway.window, headway.every, headway.epoch"
    assert {name.partition(".")[0] for name in loaded(f"import headway; {names}")} & LATER == set()
    policies = loaded("import headway; headway.order.Klink(); headway.patience.Quantile(0.9); headway.sampling.Aion()")
    assert {name.partition(".")[0] for name in policies} & (LATER - {"numpy", "scipy"}) == set()
