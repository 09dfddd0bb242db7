"""HtmlReader: makes a Parse of the elements and texts of an HTML page, given in document order.

It knows neither the page's bytes nor its tree, so that every HTML parser comes to the same
title, text and links. A fast parser looks up in `ACTIONS` which elements matter, and does not
read the attributes of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from crawl.config import Config, Property, boolean, integer, string_list
from crawl.html.encoding import UTF_8
from crawl.html.tokens import VOID, Attributes
from crawl.model.parse import Outlink, Parse, ParseStatus
from crawl.parsing.html.links import (
    LINK_ATTRIBUTES,
    is_document,
    link_references,
    may_lead_elsewhere,
    rel_of,
)
from crawl.parsing.html.metadata import HtmlMetadata
from crawl.parsing.html.text import HIDDEN_TAGS, LINE_BREAKS, collapse_whitespace, to_lines

FORM_ACTIONS: Property[bool] = boolean(
    "parser.html.form.use_action", False, "Take the targets of forms that do not POST as links."
)
IGNORE_TAGS: Property[tuple[str, ...]] = string_list(
    "parser.html.outlinks.ignore_tags", (), "Elements whose links are left out: img, script, link …"
)
MAX_OUTLINKS: Property[int] = integer(
    "parser.html.outlinks.max",
    10_000,
    "Most links that are read of a page; the rest is dropped and counted.",
    minimum=0,
)

_MAX_TITLE = 2_000
_MAX_ANCHOR = 1_000
_ANCHOR_PIECES = 500

_LEFT_OUT = -1
"""The number of a link that is not taken."""
_NO_LINK = -2
"""The number of an `a` that leads nowhere."""


@dataclass(frozen=True, slots=True)
class HtmlSettings:
    """The configuration of reading HTML."""

    agent: str = ""
    """The crawler's name, by which robots meta tags may address it."""
    form_actions: bool = False
    ignored_tags: frozenset[str] = frozenset()
    max_outlinks: int = 10_000

    @classmethod
    def from_config(cls, config: Config, agent: str) -> HtmlSettings:
        ignored = frozenset(tag.lower() for tag in config[IGNORE_TAGS])
        return cls(agent, config[FORM_ACTIONS], ignored, config[MAX_OUTLINKS])


class HtmlReader:
    """Reads one page: call `start`, `text` and `end` in document order, then `parse`.

    Text is collected in pieces. An element whose text is wanted by itself, or not at all,
    remembers their number at its start, and takes those after it at its end.
    """

    def __init__(self, url: str, settings: HtmlSettings, charset: str = UTF_8) -> None:
        self._url = url
        self._settings = settings
        self._charset = charset
        self._metadata = HtmlMetadata()
        self._pieces: list[str] = []
        self._marks: list[tuple[int, int]] = []
        """For each open element whose text is taken or hidden, the number of pieces at its
        start, and `_link_end` there."""
        self._links_over_limit = 0
        self._links: list[tuple[str, str, str]] = []
        """Tag, reference and rel of each link. These are no objects, because a page has
        hundreds."""
        self._anchors: dict[int, str] = {}
        """Anchor texts, by the number of their link."""
        self._open_anchors: list[tuple[int, int]] = []
        """For each open `a`, the number of its link (or _LEFT_OUT, or _NO_LINK), and its mark."""
        self._link_end = -1
        """The number of pieces at the end of the last link that has a text."""
        self._alternatives: dict[int, str] = {}
        """Alternative texts of the images in an `a`, by the number of its link."""
        self._takes_anchors = "a" not in settings.ignored_tags
        self._is_hidden: list[bool] = []
        self._title = ""
        self._is_json_ld = False
        self._is_head = True
        self._open = {"noscript": 0, "svg": 0}
        """How many are open of those elements that change the meaning of others."""
        self.text: Callable[[str], None] = self._pieces.append
        """Reads a piece of text."""

    def start(self, tag: str, attributes: Attributes) -> None:
        """Reads the start of an element."""
        action = ACTIONS.get(tag, _NOTHING)
        if action.text is not None:
            self.text(action.text)
        if tag not in VOID:
            self._is_hidden.append("hidden" in attributes)
            if self._is_hidden[-1]:
                self.hide()
        if action.start is not None:
            action.start(self, attributes)

    def end(self, tag: str) -> None:
        """Reads the end of an element."""
        action = ACTIONS.get(tag, _NOTHING)
        if action.end is not None:
            action.end(self)
        if self._is_hidden.pop():
            self.show()
        if action.text is not None:
            self.text(action.text)

    def hide(self) -> None:
        """Leaves the text up to the matching `show` out of the page's text; links count."""
        self._marks.append((len(self._pieces), self._link_end))

    def show(self) -> None:
        mark, self._link_end = self._marks.pop()
        del self._pieces[mark:]

    def parse(self) -> Parse:
        """The Parse of what was read."""
        page_metadata = self._metadata
        absolute = page_metadata.absolute_links(self._url, self._charset)
        anchors = self._anchors
        outlinks = [
            Outlink(url, anchors.get(number, ""), rel, tag)
            for number, (tag, reference, rel) in enumerate(self._links)
            if (url := absolute[reference])
        ]
        refresh = page_metadata.refresh(absolute, self._url)
        return Parse(
            self._url,
            ParseStatus.SUCCESS if refresh is None else ParseStatus.REDIRECT,
            title=self._title,
            text=to_lines("".join(self._pieces)),
            outlinks=tuple(outlinks),
            outlinks_over_limit=self._links_over_limit,
            refresh=refresh,
            canonical=page_metadata.canonical(absolute),
            language=page_metadata.language,
            directives=page_metadata.directives(self._settings.agent),
            metadata=page_metadata.metadata(absolute),
            counts=page_metadata.counts,
        )

    def _add(self, tag: str, reference: str, rel: str) -> int:
        """Adds a link and returns its number; _LEFT_OUT where there are as many as may be read."""
        number = len(self._links)
        if number >= self._settings.max_outlinks:
            self._links_over_limit += 1
            return _LEFT_OUT
        self._links.append((tag, reference, rel))
        return number

    def _element(self, attributes: Attributes, tag: str, rel: str = "") -> None:
        if tag not in self._settings.ignored_tags:
            for reference in link_references(tag, attributes):
                self._add(tag, reference, rel)

    def _start_hidden(self, attributes: Attributes, tag: str) -> None:
        self.hide()
        if tag == "script":
            kind = attributes.get("type")
            self._is_json_ld = kind is not None and kind.strip().lower() == "application/ld+json"
        self._element(attributes, tag)

    def _take_text(self) -> str:
        text = "".join(self._pieces[self._marks[-1][0] :])
        self.show()
        return text

    def _a(self, attributes: Attributes) -> None:
        number = _NO_LINK
        mark = len(self._pieces)
        reference = attributes.get("href") or attributes.get("xlink:href")
        if reference:
            number = _LEFT_OUT
            if mark == self._link_end:
                self.text(" ")  # between two links that touch: their texts are no single word
                mark += 1
            if self._takes_anchors and (reference[0] == "/" or may_lead_elsewhere(reference)):
                rel = rel_of(attributes) if "rel" in attributes else ""
                number = self._add("a", reference, rel)
        self._open_anchors.append((number, mark))

    def _a_end(self) -> None:
        number, mark = self._open_anchors.pop()
        end = len(self._pieces)
        if end > mark and number != _NO_LINK:
            self._link_end = end
        if number < 0:
            return
        pieces = self._pieces[mark : mark + _ANCHOR_PIECES]
        if len(pieces) != 1:
            pieces = ["".join([piece[: 4 * _MAX_ANCHOR] for piece in pieces])]
        text = collapse_whitespace(pieces[0], _MAX_ANCHOR)
        if not text and number in self._alternatives:
            text = collapse_whitespace(self._alternatives[number], _MAX_ANCHOR)
        self._anchors[number] = text

    def _img(self, attributes: Attributes) -> None:
        if self._open_anchors:
            number, _ = self._open_anchors[-1]
            alternative = self._alternatives.get(number, "")
            if len(alternative) < _MAX_ANCHOR:
                self._alternatives[number] = f"{alternative} {attributes.get('alt') or ''}"
        self._element(attributes, "img")

    def _form(self, attributes: Attributes) -> None:
        if self._settings.form_actions and "form" not in self._settings.ignored_tags:
            action, method = attributes.get("action"), attributes.get("method") or ""
            if action and method.strip().lower() != "post" and may_lead_elsewhere(action):
                self._add("form", action, rel_of(attributes))

    def _link(self, attributes: Attributes) -> None:
        rel = rel_of(attributes)
        self._metadata.link(attributes, rel, self._is_head)
        if is_document(rel):
            self._element(attributes, "link", rel)

    def _body(self, attributes: Attributes) -> None:
        self._is_head = False

    def _count_open(self, attributes: Attributes | None = None, *, tag: str, by: int) -> None:
        self._open[tag] += by

    def _script_end(self) -> None:
        text = self._take_text()
        if self._is_json_ld:
            self._is_json_ld = False
            self._metadata.json_ld(text)

    def _title_end(self) -> None:
        title = collapse_whitespace(self._take_text(), _MAX_TITLE)
        if not self._open["svg"] and not self._title:
            self._title = title


class ElementAction(NamedTuple):
    """What an element does. A tuple, because it is unpacked for every element."""

    text: str | None
    """Text that is added at its start and at its end."""
    start: Callable[[HtmlReader, Attributes], None] | None
    end: Callable[[HtmlReader], object] | None


_STARTS: dict[str, Callable[[HtmlReader, Attributes], None]] = {
    **dict.fromkeys(HIDDEN_TAGS, lambda reader, _: reader.hide()),
    **{
        tag: partial(
            HtmlReader._start_hidden if tag in HIDDEN_TAGS else HtmlReader._element, tag=tag
        )
        for tag in LINK_ATTRIBUTES
    },
    "a": HtmlReader._a,
    "area": lambda reader, attributes: reader._element(attributes, "area", rel_of(attributes)),
    "base": lambda reader, attributes: reader._metadata.base(attributes),
    "body": HtmlReader._body,
    "frameset": HtmlReader._body,
    "form": HtmlReader._form,
    "html": lambda reader, attributes: reader._metadata.html(attributes),
    "img": HtmlReader._img,
    "link": HtmlReader._link,
    "meta": lambda reader, attributes: reader._metadata.meta(
        attributes, reader._open["noscript"] > 0
    ),
    "noscript": partial(HtmlReader._count_open, tag="noscript", by=1),
    "svg": partial(HtmlReader._count_open, tag="svg", by=1),
}
_ENDS: dict[str, Callable[[HtmlReader], object]] = {
    **dict.fromkeys(HIDDEN_TAGS, HtmlReader._take_text),
    "a": HtmlReader._a_end,
    "noscript": partial(HtmlReader._count_open, tag="noscript", by=-1),
    "script": HtmlReader._script_end,
    "svg": partial(HtmlReader._count_open, tag="svg", by=-1),
    "title": HtmlReader._title_end,
}
_NOTHING = ElementAction(None, None, None)
ACTIONS: dict[str, ElementAction] = {
    tag: ElementAction(LINE_BREAKS.get(tag), _STARTS.get(tag), _ENDS.get(tag))
    for tag in LINE_BREAKS.keys() | _STARTS.keys()
}
"""The elements that matter, the same for all readers: methods bound to one reader would make
a cycle and leave each page to the garbage collector."""
