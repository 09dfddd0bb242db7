"""parser: text, data and links of a page of certain MIME types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from crawl.config import Config
from crawl.interfaces.page import Page
from crawl.model.parse import Parse


class Parser(Protocol):
    """One way to read pages. Built once a process and called by one thread at a time."""

    mime_types: ClassVar[tuple[str, ...]]
    """What it reads: `text/html`; `text/*` and `*/*` are asked after those that name the
    type itself."""

    def __init__(self, config: Config) -> None:
        """Reads its properties; raises ConfigError where they cannot be meant."""

    def parse(self, page: Page) -> Sequence[Parse] | None:
        """What is in the page: first the page itself, then documents inside it, each under
        a URL of its own. None where it is no page for this parser after all: the next one
        for the type is asked.

        A page that cannot be read is a Parse of a failed status; whatever is raised is
        recorded as one too. The result depends on the page and the configuration alone.
        The caller sees to time and memory, filters and limits links, and obeys directives.
        """
        ...
