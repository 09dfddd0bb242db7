"""Rule files that a command has learnt: written whole, and over nobody's own file."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from crawl.clock import Clock
from crawl.errors import UsageError
from crawl.storage.lock import hold_file
from crawl.storage.output_file import output_place
from crawl.urls.rule_lines import RuleLine


def read_learnt(address: str, command: str) -> list[RuleLine]:
    """The rules of a file that the command wrote earlier; none where there is no file, or none in
    it. Raises UsageError where the rules are somebody's own."""
    folder, name = output_place(address)
    content = folder.read(name)
    if content is None:
        return []
    text = content.decode("utf-8", "replace")
    lines = enumerate(text.split("\n"), start=1)
    rules = [
        RuleLine(name, number, line.rstrip())
        for number, line in lines
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if rules and not text.startswith(_first_line(command)):
        raise UsageError(
            f"{address} is not a file that `crawl {command}` wrote: name another, and copy what"
            " you want to have of it"
        )
    return rules


def rewrite_learnt(
    address: str,
    command: str,
    about: Iterable[str],
    merge: Callable[[list[RuleLine]], Iterable[str]],
    clock: Clock,
) -> None:
    """Writes what `merge` makes of the rules that the file has, in one moment. Of two commands at
    once the second waits, and so finds the rules of the first."""
    folder, name = output_place(address)
    with hold_file(folder, name, f"crawl {command}", clock) as lock:
        lock.folder.read_anew(name)  # what is written takes the place of this, and no other's
        lines = merge(read_learnt(address, command))
        comments = (f"# {line}" for line in about)
        text = "\n".join([_first_line(command), *comments, *lines, ""])
        lock.verify()
        lock.folder.write(name, text.encode())


def _first_line(command: str) -> str:
    return f"# Learnt by `crawl {command}`, which may write it anew."
