"""urlexemption: external links that are kept although external links are ignored."""

from __future__ import annotations

from typing import Protocol

from crawl.config import Config


class URLExemption(Protocol):
    """One set of exceptions; a link that any active one exempts is kept."""

    def __init__(self, config: Config) -> None:
        """Reads its rules; raises ConfigError with the file and line of a bad rule."""

    def exempts(self, source: str, target: str) -> bool:
        """Whether a link from `source` to `target` is kept; must not raise on any text."""
        ...
