"""A table that is behind what it is made from, as a value that costs nothing to import."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from crawl.hints import command


@dataclass(frozen=True, slots=True)
class BehindTable:
    """A table that is behind what it is made from."""

    table: str
    """As people call it: "LinkDb"."""
    step: str
    """The command that brings it up to date."""
    reason: str
    options: tuple[str, ...] = ()
    """What the command takes beside the crawl's folder."""

    def line(self, crawl_dir: str) -> str:
        """In a line, with the command."""
        return f"{self.table} is behind: {self.reason}; `{self.command(crawl_dir)}`"

    def command(self, crawl_dir: str) -> str:
        """The command line that brings it up to date."""
        return command(self.step, crawl_dir, *self.options)

    def values(self, crawl_dir: str) -> dict[str, Any]:
        """For programs."""
        values = asdict(self)
        del values["options"]
        return {**values, "command": self.command(crawl_dir)}
