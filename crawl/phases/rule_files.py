"""Rule files that a command has learnt: written whole, and over nobody's own file."""

from __future__ import annotations

from collections.abc import Iterable

from crawl.errors import UsageError
from crawl.storage.folder import absolute, split_address
from crawl.urls.rule_lines import RuleLine


def read_learnt(address: str, command: str) -> list[RuleLine]:
    """The rules of a file that the command wrote earlier; none where there is no file, or none in
    it. Raises UsageError where the rules are somebody's own."""
    folder, name = split_address(absolute(address))
    if not name or (folder.exists(name) and folder.size(name) is None):
        raise UsageError(f"{address} is a folder: name a file for the rules")
    content = folder.read(name)
    if content is None:
        return []
    text = content.decode("utf-8", "replace")
    lines = enumerate(text.split("\n"), start=1)
    found = [
        RuleLine(name, number, line.rstrip())
        for number, line in lines
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if found and not text.startswith(_first_line(command)):
        raise UsageError(
            f"{address} is not a file that `crawl {command}` wrote: name another, and copy what"
            " you want to have of it"
        )
    return found


def write_learnt(address: str, command: str, about: Iterable[str], lines: Iterable[str]) -> None:
    """Writes the rules in one moment, in place of those that the command wrote earlier."""
    folder, name = split_address(absolute(address))
    comments = (f"# {line}" for line in about)
    text = "\n".join([_first_line(command), *comments, *lines, ""])
    folder.write(name, text.encode())


def _first_line(command: str) -> str:
    return f"# Learnt by `crawl {command}`, which may write it anew."
