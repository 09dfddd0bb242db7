"""HtmlReader: makes a Parse of an HTML page that is given to it in document order.

It knows neither the page's bytes nor who parsed them, so that every HTML parser comes to the
same title, text and links. One who wants to be quick looks into `ACTIONS` which elements
matter, and does without asking for the others' attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from crawl.config import Config, Property, boolean, integer, string_list
from crawl.html.tokens import VOID, Attributes
from crawl.model.parse import Outlink, Parse, ParseStatus
from crawl.parsing.html_links import (
    LINK_ATTRIBUTES,
    is_document,
    is_useful,
    references,
    rel_of,
)
from crawl.parsing.html_meta import HtmlFacts
from crawl.parsing.html_text import BREAKS, UNSEEN, collapsed, lines

FORM_ACTIONS: Property[bool] = boolean(
    "parser.html.form.use_action", False, "Take the targets of forms that do not POST as links."
)
IGNORE_TAGS: Property[tuple[str, ...]] = string_list(
    "parser.html.outlinks.ignore_tags",
    (),
    "Elements whose links are left out: img, script, link …",
)
MAX_OUTLINKS: Property[int] = integer(
    "parser.html.outlinks.max",
    10_000,
    "Most links that are read of a page; the rest is passed over.",
    minimum=0,
)
PROPERTIES = (FORM_ACTIONS, IGNORE_TAGS, MAX_OUTLINKS)

_MAX_TITLE = 2_000
_MAX_ANCHOR = 1_000
_ANCHOR_PIECES = 500


@dataclass(frozen=True, slots=True)
class HtmlSettings:
    """What the configuration has to say about the reading of HTML."""

    agent: str = ""
    """The name under which pages address us."""
    form_actions: bool = False
    ignored_tags: frozenset[str] = frozenset()
    max_outlinks: int = 10_000

    @classmethod
    def of(cls, config: Config, agent: str) -> HtmlSettings:
        ignored = frozenset(tag.lower() for tag in config[IGNORE_TAGS])
        return cls(agent, config[FORM_ACTIONS], ignored, config[MAX_OUTLINKS])


class HtmlReader:
    """Takes one page: `start`, `text` and `end` in document order, then `parse`.

    Text is gathered in pieces. An element whose text is wanted for itself, or not at all,
    notes how many there are at its start, and takes those behind at its end.
    """

    def __init__(self, url: str, settings: HtmlSettings) -> None:
        self._url = url
        self._settings = settings
        self._facts = HtmlFacts()
        self._pieces: list[str] = []
        self._marks: list[int] = []
        self._links: list[tuple[str, str, str]] = []
        """Of each: tag, reference and rel. This and what comes next are no objects, because
        a page has hundreds."""
        self._anchors: dict[int, str] = {}
        """Anchor texts, by the number of their link."""
        self._open_anchors: list[tuple[int, int]] = []
        """Of each `a` that is open: the number of its link or -1, and its mark."""
        self._alternatives: dict[int, str] = {}
        """Texts for the images in an `a`, by the number of its link."""
        self._takes_anchors = "a" not in settings.ignored_tags
        self._is_hidden: list[bool] = []
        self._title = ""
        self._is_json_ld = False
        self._is_head = True
        self._noscripts = 0
        self._drawings = 0
        self.text: Callable[[str], None] = self._pieces.append
        """Takes a piece of text."""

    def start(self, tag: str, attributes: Attributes) -> None:
        """Takes the start of any element."""
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
        """Takes its end."""
        action = ACTIONS.get(tag, _NOTHING)
        if action.end is not None:
            action.end(self)
        if self._is_hidden.pop():
            self.show()
        if action.text is not None:
            self.text(action.text)

    def hide(self) -> None:
        """The text up to the matching `show` is none of the page's; links are."""
        self._marks.append(len(self._pieces))

    def show(self) -> None:
        del self._pieces[self._marks.pop() :]

    def parse(self) -> Parse:
        """What was read."""
        facts = self._facts
        absolute = facts.absolute_links(self._url)
        anchors = self._anchors
        outlinks = [
            Outlink(url, anchors.get(number, ""), rel, tag)
            for number, (tag, reference, rel) in enumerate(self._links)
            if (url := absolute[reference])
        ]
        refresh = facts.refresh(absolute, self._url)
        return Parse(
            self._url,
            ParseStatus.SUCCESS if refresh is None else ParseStatus.REDIRECT,
            title=self._title,
            text=lines("".join(self._pieces)),
            outlinks=tuple(outlinks),
            refresh=refresh,
            canonical=facts.canonical(absolute),
            language=facts.language,
            directives=facts.directives(self._settings.agent),
            metadata=facts.metadata(absolute),
        )

    def _add(self, tag: str, reference: str, rel: str) -> int:
        """The number of the link; -1 where there are enough."""
        number = len(self._links)
        if number >= self._settings.max_outlinks:
            return -1
        self._links.append((tag, reference, rel))
        return number

    def _element(self, attributes: Attributes, tag: str, rel: str = "") -> None:
        if tag not in self._settings.ignored_tags:
            for reference in references(tag, attributes):
                self._add(tag, reference, rel)

    def _cut(self, attributes: Attributes) -> None:
        self.hide()

    def _unseen(self, attributes: Attributes, tag: str) -> None:
        self.hide()
        if tag == "script":
            kind = attributes.get("type")
            self._is_json_ld = kind is not None and kind.strip().lower() == "application/ld+json"
        self._element(attributes, tag)

    def _taken(self) -> str:
        text = "".join(self._pieces[self._marks[-1] :])
        self.show()
        return text

    def _a(self, attributes: Attributes) -> None:
        number = -1
        reference = attributes.get("href") or attributes.get("xlink:href")
        if reference and self._takes_anchors and (reference[0] == "/" or is_useful(reference)):
            number = self._add("a", reference, rel_of(attributes) if "rel" in attributes else "")
        self._open_anchors.append((number, len(self._pieces)))

    def _a_end(self) -> None:
        number, mark = self._open_anchors.pop()
        if number < 0:
            return
        pieces = self._pieces[mark : mark + _ANCHOR_PIECES]
        if len(pieces) == 1:
            text = collapsed(pieces[0], _MAX_ANCHOR)
        else:
            text = collapsed("".join([piece[: 4 * _MAX_ANCHOR] for piece in pieces]), _MAX_ANCHOR)
        if not text and number in self._alternatives:
            text = collapsed(self._alternatives[number], _MAX_ANCHOR)
        self._anchors[number] = text

    def _img(self, attributes: Attributes) -> None:
        if self._open_anchors:
            number, _ = self._open_anchors[-1]
            known = self._alternatives.get(number, "")
            if len(known) < _MAX_ANCHOR:
                self._alternatives[number] = f"{known} {attributes.get('alt') or ''}"
        self._element(attributes, "img")

    def _area(self, attributes: Attributes) -> None:
        self._element(attributes, "area", rel_of(attributes))

    def _form(self, attributes: Attributes) -> None:
        if self._settings.form_actions and "form" not in self._settings.ignored_tags:
            action, method = attributes.get("action"), attributes.get("method") or ""
            if action and method.strip().lower() != "post" and is_useful(action):
                self._add("form", action, rel_of(attributes))

    def _link(self, attributes: Attributes) -> None:
        rel = rel_of(attributes)
        self._facts.link(attributes, rel, self._is_head)
        if is_document(rel):
            self._element(attributes, "link", rel)

    def _base(self, attributes: Attributes) -> None:
        self._facts.base(attributes)

    def _html(self, attributes: Attributes) -> None:
        self._facts.html(attributes)

    def _meta(self, attributes: Attributes) -> None:
        self._facts.meta(attributes, self._noscripts > 0)

    def _body(self, attributes: Attributes) -> None:
        self._is_head = False

    def _noscript(self, attributes: Attributes) -> None:
        self._noscripts += 1

    def _noscript_end(self) -> None:
        self._noscripts -= 1

    def _svg(self, attributes: Attributes) -> None:
        self._drawings += 1

    def _svg_end(self) -> None:
        self._drawings -= 1

    def _script_end(self) -> None:
        text = self._taken()
        if self._is_json_ld:
            self._is_json_ld = False
            self._facts.json_ld(text)

    def _title_end(self) -> None:
        title = collapsed(self._taken(), _MAX_TITLE)
        if not self._drawings and not self._title:
            self._title = title


class Action(NamedTuple):
    """What is to be done at an element. A tuple, because it is unpacked at every one."""

    text: str | None
    """To be added at its start and at its end."""
    start: Callable[[HtmlReader, Attributes], None] | None
    end: Callable[[HtmlReader], object] | None


_STARTS: dict[str, Callable[[HtmlReader, Attributes], None]] = {
    **dict.fromkeys(UNSEEN, HtmlReader._cut),
    **{
        tag: partial(HtmlReader._unseen if tag in UNSEEN else HtmlReader._element, tag=tag)
        for tag in LINK_ATTRIBUTES
    },
    "a": HtmlReader._a,
    "area": HtmlReader._area,
    "base": HtmlReader._base,
    "body": HtmlReader._body,
    "frameset": HtmlReader._body,
    "form": HtmlReader._form,
    "html": HtmlReader._html,
    "img": HtmlReader._img,
    "link": HtmlReader._link,
    "meta": HtmlReader._meta,
    "noscript": HtmlReader._noscript,
    "svg": HtmlReader._svg,
}
_ENDS: dict[str, Callable[[HtmlReader], object]] = {
    **dict.fromkeys(UNSEEN, HtmlReader._taken),
    "a": HtmlReader._a_end,
    "noscript": HtmlReader._noscript_end,
    "script": HtmlReader._script_end,
    "svg": HtmlReader._svg_end,
    "title": HtmlReader._title_end,
}
_NOTHING = Action(None, None, None)
ACTIONS: dict[str, Action] = {
    tag: Action(BREAKS.get(tag), _STARTS.get(tag), _ENDS.get(tag))
    for tag in BREAKS.keys() | _STARTS.keys()
}
"""The elements that matter, for every reader: bound to one, it would be a cycle, and each
page be left to the garbage collector."""
