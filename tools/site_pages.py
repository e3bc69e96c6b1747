"""Pages of the site that are made of something else: the README, the changelog, the examples, commands and docstrings."""

import inspect
import re
from pathlib import Path
from typing import Any

import site_messages
import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
# What a user holds, where it is, and which of its parts are for users.
NAMES = (
    "headway.spark.runtime.Runtime", "headway.spark.session.session", "headway.spark.session.tune",
    "headway.spark.checkup.doctor", "headway.model.deadline.window", "headway.model.deadline.every",
    "headway.pipeline.query", "headway.fleet.epochs.epoch",
)  # fmt: skip
WIDE = 80
_QUALIFIED = re.compile(r"\b(?:headway|pyspark|pathlib|collections|typing)(?:\.\w+)*\.(\w+)")
ROOMS = ("order", "patience", "sampling", "placement")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is not in docs/."""
    pages = {
        "index.md": _moved((ROOT / "README.md").read_text("utf-8")),
        "changes.md": _moved((ROOT / "CHANGELOG.md").read_text("utf-8")),
        "decisions/index.md": decisions(),
        "reference/commands.md": commands(),
        "reference/python.md": python(),
        "reference/messages.md": site_messages.page(),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    for example in sorted((ROOT / "examples").glob("*.py")):
        files.append(File.generated(config, f"examples/{example.name}", abs_src_path=str(example)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Pages link to the examples as they lie in the repository; in the site they are one folder nearer."""
    return re.sub(r"\]\((\.\./)?\.\./examples/", lambda m: f"]({m[1] or ''}examples/", markdown)


def _moved(text: str) -> str:
    links = {"](docs/decisions)": "](decisions/index.md)", "](docs/": "](", "](examples)": "](tutorial.md)"}
    for here, there in links.items():
        text = text.replace(here, there)
    return text


def decisions() -> str:
    """The choices that were not obvious, by number."""
    found = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    lines = [f"- [{path.read_text('utf-8').partition(chr(10))[0].lstrip('# ')}]({path.name})" for path in found]
    return "# Decisions\n\nWhat we chose where it was not obvious, why, and the price.\n\n" + "\n".join(lines)


def commands() -> str:
    """Every command with its options, as `--help` has them."""
    from typer.cli import get_docs_for_click
    from typer.main import get_command

    from headway.cli.app import app

    command = get_command(app)
    context = typer.Context(command, info_name="headway")
    return f"# Commands\n\n{get_docs_for_click(obj=command, ctx=context, name='headway')}"


def python() -> str:
    """Signatures and docstrings of what a user holds."""
    parts = ["# Python\n\nNames of the package `headway`, imported as `hw`.\n"]
    for path in NAMES:
        parts += _documented("hw", _found(path))
    for room in ROOMS:
        module = _module(f"headway.policy.{room}")
        parts.append(f"## hw.{room}\n")
        for name in sorted(getattr(module, "__all__", dir(module))):
            if inspect.isclass(of := getattr(module, name)) and of.__module__.startswith("headway.policy"):
                parts += _documented(f"hw.{room}", of, "###")
    return "\n".join(parts)


def _module(path: str) -> Any:
    from importlib import import_module

    return import_module(path)


def _found(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(_module(module), name)


def _documented(prefix: str, of: Any, level: str = "##") -> list[str]:
    text = inspect.getdoc(of) or ""
    lines = [f"{level} {prefix}.{of.__name__}\n", f"```python\n{of.__name__}{_signature(of)}\n```\n", f"{text}\n"]
    if inspect.isclass(of) and of.__name__ == "Runtime":
        for name, part in inspect.getmembers(of):
            if not name.startswith("_") and (text := inspect.getdoc(part) or ""):
                shown = "" if isinstance(part, property) else _signature(part)
                shown = shown.replace("(self, ", "(").replace("(self)", "()")
                lines += [f"{level}# {name}\n", f"```python\nrt.{name}{shown}\n```\n", f"{text}\n"]
    return lines


def _signature(of: Any) -> str:
    """As one line, or with a line for each argument where that would be long."""
    try:
        signature = inspect.signature(of)
    except ValueError:
        return "(...)"
    text = _QUALIFIED.sub(r"\1", str(signature))
    if len(text) <= WIDE:
        return text
    arguments = [_QUALIFIED.sub(r"\1", str(one)) for one in signature.parameters.values() if one.name != "self"]
    return "(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"
