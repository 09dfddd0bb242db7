"""How deep sitemap indexes may be nested: indexes that list each other without end must not
lead a crawl on. The standard knows no index below an index; some sites have one.

An index passes its depth on to what it lists; the CrawlDb keeps it in the record's metadata,
and a fetch in the content's, so that it is there when the page is parsed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.counters import Counters
from crawl.model.content import Content
from crawl.model.datum import SITEMAP_DEPTH_KEY
from crawl.model.metadata import with_entry
from crawl.model.parse import Parse
from crawl.parsing.document import Document
from crawl.parsing.formats.sitemaps import SitemapKind
from crawl.parsing.link_lists import SITEMAP_KIND_KEY

TOO_DEEP = "outlinks_dropped.sitemap_too_deep"


def limit_sitemap_depth(content: Content, parse: Parse, most: int, counters: Counters) -> Parse:
    """The parse, without the links of an index that is too deep; counted."""
    if not _is_index(parse) or depth_of(content.metadata) < most:
        return parse
    counters[TOO_DEEP] += len(parse.outlinks)
    return replace(parse, outlinks=())


def with_depths(
    documents: Sequence[Document], owner: npt.NDArray[np.int64], metadata: pa.Array[Any]
) -> pa.Array[Any]:
    """The metadata of links, with the depth where the document that has them is an index."""
    for number, document in enumerate(documents):
        if _is_index(document.parse):
            depth = str(depth_of(document.content.metadata) + 1)
            metadata = with_entry(metadata, SITEMAP_DEPTH_KEY, depth, owner == number)
    return metadata


def depth_of(metadata: Mapping[str, str]) -> int:
    """How many indexes lead to the page; 0 where none is known to."""
    text = metadata.get(SITEMAP_DEPTH_KEY, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else 0


def _is_index(parse: Parse) -> bool:
    return parse.metadata.get(SITEMAP_KIND_KEY) == SitemapKind.INDEX
