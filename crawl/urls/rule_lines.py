"""Rule files, line by line: comments dropped, and every complaint bears file and line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from crawl.config import Config, Property, file, text
from crawl.errors import ConfigError
from crawl.urls.inline_flags import scope_flags


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One line that says something."""

    source: str
    number: int
    text: str
    """Without blanks at its end."""

    @property
    def place(self) -> str:
        """`regex-urlfilter.txt:12`."""
        return f"{self.source}:{self.number}"

    def wrong(self, problem: str) -> ConfigError:
        """The fault to raise for this line."""
        return ConfigError(f"{self.place}: {problem}")

    def compile(self, expression: str) -> re.Pattern[str]:
        """A regular expression of this line, with flags wherever Java takes them; ConfigError
        where it is none."""
        if not expression:
            raise self.wrong("a rule without an expression")
        try:
            return re.compile(scope_flags(expression))
        except (re.error, RecursionError, OverflowError) as error:
            raise self.wrong(f"{expression!r} is not a regular expression: {error}") from None


def rule_properties(name: str, file_name: str, of: str) -> tuple[Property[str], Property[str]]:
    """The two places where a plugin's rules may stand: a file, `<name>.file`, and the
    configuration itself, `<name>.rules`."""
    return (
        file(f"{name}.file", file_name, f"Rules of the {of}."),
        text(f"{name}.rules", "", f"Rules of the {of}, instead of the file's."),
    )


def rule_lines(
    config: Config, file: Property[str], inline: Property[str] | None = None
) -> Iterator[RuleLine]:
    """The lines of the rule file, or of the inline rules where the configuration has any."""
    if inline is not None and config[inline].strip():
        source, text = inline.name, config[inline]
    else:
        source, text = PurePath(config[file]).name, config.read(file)
    # not splitlines(): a rule may hold any character but a newline
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield RuleLine(source, number, line.rstrip())
