"""The blocks of code in the pages: what is written there is tried, so that a reader may copy it."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
_FENCE = re.compile(r"^( *)```(\w*)\s*$")


@dataclass(frozen=True)
class DocBlock:
    """One block, with the language that its fence names."""

    page: str  # from the root of the repository
    line: int
    language: str
    text: str

    @property
    def id(self) -> str:
        return f"{self.page}:{self.line}"

    def commands(self) -> Iterator[list[str]]:
        """Lines of a shell in it, as words; what a command prints is none."""
        if self.language not in ("", "console", "bash"):
            return
        lines = self.text.replace("\\\n", " ").splitlines()
        typed = any(line.startswith("$ ") for line in lines)
        for line in lines:
            if typed and not line.startswith("$ "):
                continue
            words = line.removeprefix("$ ").partition("#")[0].partition(" > ")[0].partition("   ")[0].strip()
            if words.split(" ")[0] in COMMANDS:
                yield shlex.split(words)


COMMANDS = ("headway", "pip", "make", "python")


def blocks() -> list[DocBlock]:
    return [block for page in PAGES for block in _blocks(page)]


def of_page(page: str, language: str = "python") -> list[DocBlock]:
    return [block for block in blocks() if block.page == page and block.language == language]


def _blocks(path: Path) -> Iterator[DocBlock]:
    page, inside, language, start = str(path.relative_to(ROOT)), list[str](), "", 0
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if fence and not start:
            language, start, inside = fence[2], number, []
        elif fence:
            yield DocBlock(page, start, language, "\n".join(inside) + "\n")
            start = 0
        elif start:
            inside.append(line)
    assert not start, f"{page}:{start}: this block has no end"
