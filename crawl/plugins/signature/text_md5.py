"""signature text-md5: pages are the same if their text is, whatever the markup around it."""

from __future__ import annotations

from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.plugins.signature.md5 import MD5Signature, digest


class TextMD5Signature(MD5Signature):
    """MD5 of the parsed text; of the body where there is no text."""

    def calculate(self, content: Content, parse: Parse | None) -> bytes:
        if parse is None or not parse.text:
            return super().calculate(content, parse)
        return digest(parse.text.encode("utf-8", "replace"))
