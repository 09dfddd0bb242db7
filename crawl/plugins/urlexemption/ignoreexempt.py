"""urlexemption ignoreexempt: `+` and `-` rules about the target, the first that matches
decides; a link that no rule matches is not exempt."""

from __future__ import annotations

import re

from crawl.config import Config, file
from crawl.interfaces.urlexemption import URLExemption
from crawl.urls.rule_lines import rule_lines

FILE = file(
    "db.ignore.external.exemptions.file",
    "db-ignore-external-exemptions.txt",
    "Rules of the exemption plugin ignoreexempt.",
)
_LONGEST = 4096
"""A regular expression may take very long over a longer text."""


class IgnoreExemptURLExemption(URLExemption):
    """External links whose target a `+` rule matches are kept."""

    def __init__(self, config: Config) -> None:
        self._rules: list[tuple[bool, re.Pattern[str]]] = []
        for line in rule_lines(config, FILE):
            sign, expression = line.text[0], line.text[1:]
            if sign not in "+-":
                raise line.wrong(f"expected +, - or #, got {sign!r}")
            self._rules.append((sign == "+", line.compile(expression)))

    def exempts(self, source: str, target: str) -> bool:
        if len(target) > _LONGEST:
            return False
        for is_exempt, pattern in self._rules:
            if pattern.search(target):
                return is_exempt
        return False
