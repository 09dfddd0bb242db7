"""parser xml: any XML: its text, and what its attributes link to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from crawl.config import Config
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.parse import Outlink, Parse
from crawl.parsing.formats.safe_xml import BadXml, read_xml
from crawl.parsing.language import normalised
from crawl.parsing.text.links import MAX_LINKS, MAX_URL
from crawl.parsing.text.plain import facts, invalid, one_line, storable
from crawl.parsing.text.xml_root import local_name
from crawl.urls.parse import resolve

_XLINK = "{http://www.w3.org/1999/xlink}href"
_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_LINKS = ("href", "src", _XLINK, "xlink:href")
_UNSEEN = frozenset({"script", "style"})


class XmlParser(Parser):
    """Documents of any vocabulary."""

    mime_types: ClassVar[tuple[str, ...]] = (
        *("application/xml", "text/xml", "application/xhtml+xml", "image/svg+xml"),
        *("application/rdf+xml", "application/mathml+xml", "application/xslt+xml"),
        *("application/atom+xml", "application/rss+xml", "application/opensearchdescription+xml"),
        *("application/soap+xml", "application/tei+xml", "application/docbook+xml"),
        *("application/vnd.google-earth.kml+xml", "application/gpx+xml", "text/x-opml"),
    )

    def __init__(self, config: Config) -> None:
        """There is nothing to set."""

    def parse(self, page: Page) -> Sequence[Parse]:
        document = _XmlDocument(page.url)
        try:
            read_xml(page.markup, document)
        except BadXml as error:
            return (invalid(page.url, str(error)),)
        return (
            Parse(
                page.url,
                title=one_line("".join(document.title or ())),
                text=storable(document.text()),
                outlinks=tuple(document.links),
                outlinks_over_limit=document.links_over_limit,
                language=normalised(document.language),
                metadata=facts({"xml.root": document.root}),
            ),
        )


class _XmlDocument:
    """Collects text, title and links from XML events."""

    def __init__(self, url: str) -> None:
        self.root = ""
        self.language = ""
        self.title: list[str] | None = None
        self.links: dict[Outlink, None] = {}
        self.links_over_limit = 0
        self._url = url
        self._base = url
        self._pieces: list[str] = []
        self._open: list[str] = []
        self._unseen = 0
        self._in_title = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        tag = local_name(name)
        if not self._open and not self.root:
            self.root = tag
            self.language = attributes.get(_LANGUAGE, "")
            self._base = resolve(self._url, attributes.get(_BASE, "")) or self._url
        self._open.append(tag)
        self._unseen += tag in _UNSEEN
        if tag == "title" and self.title is None:
            self.title = []
            self._in_title = True
        if attributes:
            self._link(tag, attributes)

    def data(self, text: str) -> None:
        if self._unseen:
            return
        self._pieces.append(text)
        if self._in_title and self.title is not None:
            self.title.append(text)

    def end(self, name: str) -> None:
        tag = self._open.pop() if self._open else local_name(name)
        self._unseen -= tag in _UNSEEN
        if tag == "title":
            self._in_title = False
        self._pieces.append("\n")

    def text(self) -> str:
        """The lines that say something."""
        lines = (" ".join(line.split()) for line in "".join(self._pieces).split("\n"))
        return "\n".join(line for line in lines if line)

    def _link(self, tag: str, attributes: Mapping[str, str]) -> None:
        for attribute in _LINKS:
            target = attributes.get(attribute, "").strip()
            if not target or len(target) > MAX_URL or target.startswith("#"):
                continue
            if len(self.links) >= MAX_LINKS:
                self.links_over_limit += 1
                continue
            url = resolve(self._base, target)
            if url is not None:
                rel = " ".join(attributes.get("rel", "")[:200].lower().split())
                anchor = one_line(attributes.get("title", ""))
                self.links[Outlink(url, anchor, storable(rel), storable(tag))] = None
