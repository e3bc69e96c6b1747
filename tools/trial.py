"""A trial of the wheel as a stranger would: a fresh environment far from the checkout, base dependencies first, then extras.

python tools/trial.py                    # base dependencies: version, doctor, imports, completion, what lacks an extra
python tools/trial.py wan dashboard      # and then these extras, one after the other, in the same environment

It needs a package index, and Java for `headway doctor` (`--no-doctor` leaves that out). What is wrong is told; exit code 1.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import matrix

HEAVY = ("pyspark", "pandas", "scipy", "py4j")
PURE = (
    f"import sys, headway; found = sorted(set({HEAVY!r}) & set(sys.modules)); sys.exit(f'loads {{found}}' if found else 0)"
)
# Commands that need more than the base: which extra their one line must name.
LACKING = {
    "demo": "lab", "claims": "lab", "bench klink": "lab", "sim ladder": "lab", "dashboard": "dashboard", "top": "dashboard",
    "node --name n": "fleet", "fleet up": "fleet", "fleet status": "fleet", "wan run job.py": "wan",
    "orchestrator --zookeeper z:1 --checkpoints c --token-file t": "fleet",
}  # fmt: skip
SERVING = ("fastapi", "uvicorn")
BRINGS = {
    "kafka": ("confluent_kafka",), "tuner": ("sklearn",), "fleet": (*SERVING, "kazoo", "httpx", "statsmodels"),
    "dashboard": (*SERVING, "prometheus_client", "textual"), "wan": (*SERVING, "confluent_kafka", "kazoo", "httpx"),
    "otel": ("opentelemetry.sdk",), "lab": ("plotly", "statsforecast", "wfdb", "matplotlib", "confluent_kafka", "sklearn"),
}  # fmt: skip


class Trial:
    """An environment with the wheel, and what is wrong with it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.wrong = folder, list[str]()
        self.bin = folder / "env" / "bin"
        kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "SPARK_HOME", "PYSPARK_PYTHON")}
        self.environment = kept | {"XDG_STATE_HOME": str(folder / "state"), "COLUMNS": "200"}
        subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)

    def install(self, package: Path, extra: str = "") -> None:
        what = f"headway[{extra}] @ {package.as_uri()}" if extra else str(package)
        since = time.monotonic()
        words = ["install", "-q", "--disable-pip-version-check", "-c", str(matrix.ROOT / "constraints.txt"), what]
        subprocess.run([str(self.bin / "python"), "-m", "pip", *words], env=self.environment, cwd=self.folder, check=True)
        print(
            f"installed {'headway[' + extra + ']' if extra else 'headway'} in {time.monotonic() - since:.0f} s", flush=True
        )

    def called(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """What one of its programs says, in an empty folder."""
        program = str(self.bin / words[0])
        return subprocess.run(
            [program, *words[1:]], env=self.environment | more, cwd=self.folder, capture_output=True, text=True, timeout=200
        )  # fmt: skip

    def expect(self, told: str, held: bool, said: str = "") -> None:
        print(f"{'yes' if held else 'NO '}  {told}" + (f"\n     {said.strip()[-600:]}" if not held else ""), flush=True)
        if not held:
            self.wrong.append(told)

    def base(self, doctor: bool) -> None:
        said = self.called("headway", "--version")
        self.expect("headway --version", said.returncode == 0 and said.stdout.startswith("headway 0."), said.stderr)
        said = self.called("python", "-c", PURE)
        self.expect(f"`import headway` loads none of {', '.join(HEAVY)}", said.returncode == 0, said.stderr)
        said = self.called("headway", "jar")
        self.expect("headway jar", Path(said.stdout.strip()).is_file(), said.stderr)
        said = self.called("headway", COMP_WORDS="headway da", COMP_CWORD="1", _HEADWAY_COMPLETE="complete_bash")
        self.expect("the shell completes `headway da` to `dashboard`", said.stdout.split() == ["dashboard"], said.stderr)
        if doctor:
            said = self.called("headway", "doctor")
            self.expect("headway doctor", said.returncode == 0, said.stdout + said.stderr)
        for told, held, line in self.lacking():
            self.expect(told, held, line)

    def lacking(self) -> Iterator[tuple[str, bool, str]]:
        """What needs an extra says which, in one line, and exits with 2."""
        for command, extra in LACKING.items():
            said = self.called("headway", *command.split())
            one = said.returncode == 2 and said.stderr.count("\n") == 1 and f"'headway[{extra}]'" in said.stderr
            yield f"`headway {command}` asks for headway[{extra}] in one line", one, said.stdout + said.stderr

    def extra(self, name: str) -> None:
        code = f"import importlib; [importlib.import_module(name) for name in {BRINGS[name]!r}]"
        said = self.called("python", "-c", code)
        self.expect(f"headway[{name}] brings {', '.join(BRINGS[name])}", said.returncode == 0, said.stderr)
        for command in (command for command, extra in LACKING.items() if extra == name):
            said = self.called("headway", *command.split()[:2], "--help")
            self.expect(f"`headway {command} --help` with headway[{name}]", said.returncode == 0, said.stderr)


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("extras", nargs="*", choices=[[], *BRINGS], help="Installed after the base, one after the other.")
    given.add_argument("--no-doctor", action="store_true")
    wanted = given.parse_args()
    with tempfile.TemporaryDirectory(prefix="headway-trial-") as folder:
        trial, package = Trial(Path(folder)), matrix.wheel()
        trial.install(package)
        trial.base(not wanted.no_doctor)
        for name in wanted.extras:
            trial.install(package, name)
            trial.extra(name)
    print(f"{len(trial.wrong)} wrong" if trial.wrong else "all as it should be")
    return bool(trial.wrong)


if __name__ == "__main__":
    sys.exit(main())
