"""The main content of one page, as text and as Markdown."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser

from crawl.maincontent.blocks import STRIKE, Block
from crawl.maincontent.main_blocks import main_blocks
from crawl.maincontent.phrases import without_struck
from crawl.maincontent.render import Rendered, as_markdown, as_text
from crawl.maincontent.walk import outline_of

MAX_BYTES = 8 << 20
"""Of a page that is looked into; of longer ones, the beginning."""

_ENOUGH = 200
"""Characters; where less is found, also what is in `nav` and `footer` is looked at."""
_AROUND = re.compile(rb"<(?:nav|footer)", re.I)


def extract(markup: bytes, *, markdown: bool, tree: LexborHTMLParser | None = None) -> Rendered:
    """The main content of a page in valid UTF-8; empty where it has no text. `tree` is lexbor's,
    where the caller has it already."""
    if tree is None and len(markup) > MAX_BYTES:
        markup = markup[:MAX_BYTES].decode("utf-8", "ignore").encode()
    blocks = main_blocks(outline_of(markup, tree=tree))
    if sum(len(block.text) for block in blocks) < _ENOUGH and _AROUND.search(markup):
        blocks = main_blocks(outline_of(markup, everything=True, tree=tree))
    _mend_struck(blocks)
    return as_markdown(blocks) if markdown else as_text(blocks)


def _mend_struck(blocks: list[Block]) -> None:
    """Takes most of a page as valid where it is struck out: somebody forgot to end it."""
    struck = sum(len(each.text) - len(without_struck(each.text)) for each in blocks)
    if struck and 2 * struck > sum(len(each.text) for each in blocks):
        for block in blocks:
            for each in (block, *(inner for row in block.rows for cell in row for inner in cell)):
                each.text = each.text.replace(STRIKE, "")
