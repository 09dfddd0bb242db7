"""signature: are two pages the same? A digest that tells."""

from __future__ import annotations

from typing import Protocol

from crawl.config import Config
from crawl.model.content import Content
from crawl.model.parse import Parse


class Signature(Protocol):
    """One idea of sameness. One signature is active in a crawl (`db.signature.class`)."""

    def __init__(self, config: Config) -> None:
        """Reads its properties."""

    def calculate(self, content: Content, parse: Parse | None) -> bytes:
        """The digest, of 1 to 256 bytes; `parse` is None for a page that was not parsed.

        Pages that count as the same have equal digests. Must not raise, and must be the
        same on every machine and in every process.
        """
        ...
