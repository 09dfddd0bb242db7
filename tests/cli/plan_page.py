"""What docs/pages/capacity.md says that `crawl plan` prints, and what it prints.

`python -m tests.cli.plan_page` writes the page anew, after figures have changed.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

from crawl.cli.main import main

PAGE = Path(__file__).parents[2] / "docs" / "pages" / "capacity.md"
_BLOCK = re.compile(
    r"(?<=^```console\n)\$ (crawl plan [^\n]*)\n(.*?)(?=^```$)", re.MULTILINE | re.DOTALL
)


def commands(page: str) -> list[tuple[str, str]]:
    """The command lines of the page, and what it says they print."""
    return [(found.group(1), found.group(2)) for found in _BLOCK.finditer(page)]


def printed(line: str) -> str:
    """What a line prints: a plan, of which `| grep -E` may leave some lines."""
    command, _, grep = line.partition("  # ")[0].partition(" | grep -E ")
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(shlex.split(command)[1:])
        except SystemExit as ended:
            assert ended.code in (0, 1), err.getvalue()
    if not grep:
        return out.getvalue()
    (pattern,) = shlex.split(grep)
    wanted = re.compile(pattern)
    lines = out.getvalue().splitlines(keepends=True)
    return "".join(each for each in lines if wanted.search(each))


def rendered(page: str) -> str:
    return _BLOCK.sub(lambda found: f"$ {found[1]}\n{printed(found[1])}", page)


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text()))
