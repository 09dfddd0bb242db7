"""The fenced blocks of README and docs/pages.

A block has a language, which says what is done with it:

    sh, console   run in the page's shell; of `console` the lines behind `$ `, and the lines
                  below must be what the command prints (digits may differ, … is anything)
    python        run in the page's Python process
    toml          must be settings that the crawler accepts
    xml, csv      data for the commands below
    text          shown only; holds no commands

A block with a title, ```` ```python title="my.py" ````, is not run but written to that file.

Before a block that needs what a test does not have (a cluster, Docker, the network) stands the
comment `<!-- not run: why -->`; its command lines are parsed, not run. A command that is meant
to fail says so: `# exit code 1`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "pages").rglob("*.md"))]
LANGUAGES = {"sh", "console", "python", "toml", "xml", "csv", "text"}

_FENCE = re.compile(
    r"(?:^<!-- not run: (?P<why>[^\n]+) -->\n+)?"
    r'^(?P<indent> *)```(?P<language>\w*)(?: title="(?P<file>[^"]+)")?\n'
    r"(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    language: str
    text: str
    file: str
    """What it is to be written to; empty where it is not."""
    not_run: str
    """Why it cannot be run here; empty where it is run."""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_shell(self) -> bool:
        return self.language in ("sh", "console")

    def commands(self) -> str:
        """What is typed."""
        if self.language == "sh":
            return self.text
        return "".join(f"{command}\n" for command, _ in self.exchanges())

    def exchanges(self) -> list[tuple[str, list[str]]]:
        """Of a `console` block every command with the lines that are shown below it."""
        found: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            else:
                found[-1][1].append(line)
        return found


def blocks_of(text: str, page: str) -> list[Block]:
    """The blocks of a page, in order."""
    return [
        Block(
            page,
            text.count("\n", 0, found.start("text")),
            found["language"],
            found["text"],
            found["file"] or "",
            found["why"] or "",
        )
        for found in _FENCE.finditer(text)
    ]


def blocks_of_page(path: Path) -> list[Block]:
    """The blocks of a file."""
    return blocks_of(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))
