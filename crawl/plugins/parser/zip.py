"""parser zip: archives (zip) and packed files (gzip): the text and links of the readable
members as one document.

Python's own zipfile and zlib, which can be asked for a bounded number of bytes: what a
member says of its size is not believed, so that a bomb is only ever unpacked up to there.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from mimetypes import MimeTypes
from typing import ClassVar

from crawl.config import Config, integer, size
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.content import Content
from crawl.model.parse import Outlink, Parse
from crawl.parsing.formats.gunzip import GZIP_START, GzipEnd, gunzip
from crawl.parsing.text.links import MAX_LINKS
from crawl.parsing.text.mime import is_packed_or_vague, mime_type
from crawl.parsing.text.plain import facts, invalid, one_line, storable
from crawl.plugins.parser.inner_parsers import InnerParsers

MAX_SIZE = size(
    "parser.zip.max.size", 32 << 20, "Bytes unpacked of one archive; the rest is left out."
)
MAX_MEMBERS = integer(
    "parser.zip.max.members", 1000, "Members read of one archive.", unit="members", minimum=1
)
MAX_RATIO = integer(
    "parser.zip.max.ratio",
    400,
    "How many times its packed size a member may unpack to; beyond it is a bomb.",
    minimum=1,
)

_SMALL = 1 << 16
"""Bytes that any member may unpack to."""
_DEFLATED = GZIP_START + b"\x08"
_DIRECTORY_ENTRY = b"PK\x01\x02"
_MAX_ENTRIES = 100_000
_READ_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The others can be made to ask for gigabytes of memory before the first byte."""
_INSIDE = "member:"
"""Scheme of the members' URLs: what is relative inside an archive leads nowhere outside."""
_FAULTS = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError),
    *(NotImplementedError, IndexError, KeyError, OverflowError),
)


class _Bomb(Exception):
    """A decompression bomb: it unpacks to far more than its size."""


class ZipParser(Parser):
    """zip and gzip."""

    mime_types: ClassVar[tuple[str, ...]] = (
        *("application/zip", "application/x-zip-compressed", "application/x-zip"),
        *("application/gzip", "application/x-gzip"),
    )

    def __init__(self, config: Config) -> None:
        self._max_size = config[MAX_SIZE]
        self._max_members = config[MAX_MEMBERS]
        self._max_ratio = config[MAX_RATIO]
        self._inner = InnerParsers(config, without=ZipParser)
        self._by_suffix = MimeTypes(filenames=())

    def parse(self, page: Page) -> Sequence[Parse]:
        try:
            if page.body.startswith(GZIP_START):
                return self._unpacked(page)
            return (self._archive(page),)
        except _Bomb as bomb:
            return (invalid(page.url, str(bomb)),)
        except _FAULTS as error:
            return (invalid(page.url, f"no archive that can be read: {error}"),)

    def _unpacked(self, page: Page) -> Sequence[Parse]:
        """A packed file is the file: its links count from where it lies, and what its server
        declares is said of the file where it does not only say that it is packed."""
        body = self._gunzip(page.body, len(page.body))
        if body.startswith(_DEFLATED):  # packed by its author, and once more by the server
            body = self._gunzip(body, len(page.body))
        declared = page.content.content_type
        if is_packed_or_vague(declared):
            declared = ""
        # what has NULs is not what its name says
        name = _without_suffix(page.url) if b"\0" not in body[:64] or declared else page.url
        kind = mime_type(replace(page.content, url=name, body=body, content_type=declared))
        content = replace(page.content, body=body, content_type=declared)
        parses = self._inner.parse(content, kind)
        if not parses:
            return (Parse(page.url, metadata=facts({"gzip.size": len(body)})),)
        return (replace(parses[0], url=page.url), *parses[1:])

    def _gunzip(self, packed: bytes, size: int) -> bytes:
        """What a gzip file unpacks to; `size` is what came over the network, by which a bomb is
        known."""
        unpacked = gunzip(packed, self._max_size)
        self._check(len(unpacked.data), size)
        if unpacked.end is GzipEnd.DAMAGED:
            raise zlib.error("it is damaged")
        if not unpacked.data and unpacked.end is GzipEnd.BROKEN_OFF:
            raise EOFError("it ends before anything is in it")
        return unpacked.data

    def _archive(self, page: Page) -> Parse:
        if page.body.count(_DIRECTORY_ENTRY) > _MAX_ENTRIES:
            raise _Bomb(f"an archive of more than {_MAX_ENTRIES} members")
        contents = _ArchiveContents()
        with zipfile.ZipFile(io.BytesIO(page.body)) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            for info in members[: self._max_members]:
                if contents.unpacked >= self._max_size:
                    break
                self._member(archive, info, contents)
        return Parse(
            page.url,
            text=storable("\n\n".join(contents.texts)),
            outlinks=tuple(contents.links),
            outlinks_over_limit=contents.links_over_limit,
            outlinks_dropped=dict(contents.links_dropped),
            metadata=facts({"zip.members": len(members), "zip.members.read": contents.read}),
        )

    def _member(
        self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, contents: _ArchiveContents
    ) -> None:
        kind = self._by_suffix.guess_type(info.filename.rpartition("/")[2])
        is_closed = info.flag_bits & 1 or info.compress_type not in _READ_METHODS
        if kind[0] is None or kind[1] or is_closed or not self._inner.can_read(kind[0]):
            return
        room = self._max_size - contents.unpacked
        try:
            with archive.open(info) as packed:
                body = packed.read(room + 1)
        except _FAULTS:
            return  # the others may be whole
        contents.unpacked += len(body)
        self._check(len(body), info.compress_size)
        if len(body) > room:
            return
        content = Content(f"{_INSIDE}//archive/{contents.read}", body, kind[0])
        parses = self._inner.parse(content, mime_type(content))
        if parses and parses[0].status.is_success:
            contents.add(info.filename, parses[0])

    def _check(self, unpacked: int, packed: int) -> None:
        if unpacked > max(_SMALL, packed * self._max_ratio):
            raise _Bomb(f"unpacks to more than {self._max_ratio} times its size")


class _ArchiveContents:
    """Text and links of all members together."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.links: dict[Outlink, None] = {}
        self.links_over_limit = 0
        self.links_dropped: Counter[str] = Counter()
        self.unpacked = 0
        self.read = 0

    def add(self, name: str, parse: Parse) -> None:
        self.read += 1
        self.texts += filter(None, (one_line(name, 200), parse.title, parse.text))
        self.links_over_limit += parse.outlinks_over_limit
        self.links_dropped.update(parse.outlinks_dropped)
        for link in parse.outlinks:
            if link.url.startswith(_INSIDE) or link in self.links:
                continue
            if len(self.links) < MAX_LINKS:
                self.links[link] = None
            else:
                self.links_over_limit += 1


def _without_suffix(url: str) -> str:
    """The URL as it was before the file was packed, without a query."""
    bare = url.partition("#")[0].partition("?")[0]
    return bare[:-3] if bare.lower().endswith(".gz") else url
