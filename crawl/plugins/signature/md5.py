"""signature md5: pages are the same if their bytes are."""

from __future__ import annotations

import hashlib

from crawl.config import Config
from crawl.interfaces.signature import Signature
from crawl.model.content import Content
from crawl.model.parse import Parse


class MD5Signature(Signature):
    """MD5 of the body, or of the URL where there is none."""

    def __init__(self, config: Config) -> None:
        """There is nothing to configure."""

    def calculate(self, content: Content, parse: Parse | None) -> bytes:
        return digest(content.body or content.url.encode("utf-8", "replace"))


def digest(data: bytes) -> bytes:
    """MD5: nobody is to be kept from forging it, and sixteen bytes are what Nutch stores."""
    return hashlib.md5(data, usedforsecurity=False).digest()
