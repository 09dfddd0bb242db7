"""From a page and its rules to values; whatever is not found has a reason.

Of several rules for a page the first that finds a field's value gives it. All is bounded: values of
a field, characters of a value, and texts that a regular expression is asked about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from lxml import etree

from crawl.interfaces.page import Page
from crawl.parsing.fields.kinds import FieldKind, FieldValue, as_text, convert
from crawl.parsing.fields.page_tree import PageTree, SelectorMatch, text_of
from crawl.parsing.fields.rules import FieldRule, PageRule
from crawl.parsing.html.links import AbsoluteLinks, links_of_page
from crawl.parsing.text.plain import storable

MAX_VALUES = 1_000
LONGEST_VALUE = 20_000
_LONGEST_SEARCHED = 10_000
_SHOWN = 60

UNSAFE = "the page's markup would harm a parser: it is not looked into"


@dataclass(frozen=True, slots=True)
class FieldOutcome:
    """What became of one field of a page."""

    name: str
    rule: str
    """The rule that gave the values; the last that was asked where none did."""
    kind: FieldKind
    is_list: bool
    values: tuple[FieldValue, ...] = ()
    is_default: bool = False
    problem: str = ""
    """Why there is no value, or fewer than were found."""
    unconverted: int = 0
    """Texts that are no such value."""
    cut: int = 0
    """Values that were too long, or too many."""


def outcomes(rules: Sequence[PageRule], page: Page) -> list[FieldOutcome]:
    """The fields of a page, each once, in the order of the rules."""
    by_name: dict[str, FieldOutcome] = {}
    tree = None if page.tree is None else PageTree(page.tree)
    reader = None if tree is None else _Reader(tree, page.url, page.charset)
    for rule in rules:
        for field in rule.fields:
            earlier = by_name.get(field.name)
            if earlier is not None and earlier.values and not earlier.is_default:
                continue
            asked = _outcome(rule, field, reader)
            if earlier is not None and earlier.values and not asked.values:
                continue  # what an earlier rule says without having found anything
            if earlier is not None and not asked.values and earlier.problem:
                asked = replace(
                    asked, problem=f"{earlier.rule}: {earlier.problem}; {asked.problem}"
                )
            by_name[field.name] = asked
    return list(by_name.values())


def _outcome(rule: PageRule, field: FieldRule, reader: _Reader | None) -> FieldOutcome:
    base = (field.name, rule.name, field.kind, field.is_list)
    values, problem, unconverted, cut = _NOTHING if reader is None else reader.read(field)
    if values or field.default is None:
        return FieldOutcome(*base, values, False, problem, unconverted, cut)
    default = field.default if isinstance(field.default, tuple) else (field.default,)
    return FieldOutcome(*base, default, True, problem, unconverted, cut)


_Reading = tuple[tuple[FieldValue, ...], str, int, int]
"""Values, why there are none or fewer, texts that are no values, values cut."""
_NOTHING: _Reading = ((), UNSAFE, 0, 0)


class _Reader:
    def __init__(self, tree: PageTree, url: str, charset: str) -> None:
        self._tree = tree
        self._url = url
        self._charset = charset

    def read(self, field: FieldRule) -> _Reading:
        try:
            matches = self._tree.find(field.selector)
        except etree.XPathError as error:
            return (), f"{field.selector.text!r} failed: {' '.join(str(error).split())}", 0, 0
        if not matches:
            return (), f"{field.selector.text!r} matched nothing", 0, 0
        values: list[FieldValue] = []
        problem, unconverted, cut = "", 0, 0
        most = MAX_VALUES if field.is_list else 1
        for number, each in enumerate(matches):
            if len(values) >= most:
                cut += (len(matches) - number) if field.is_list else 0
                break
            text = self._text(each, field)
            if text is None:
                problem = problem or f"the element has no attribute {field.attribute}"
                continue
            if len(text) > LONGEST_VALUE:
                text, cut = text[:LONGEST_VALUE], cut + 1
            value, why = self._value(text, field)
            if value is None:
                problem = problem or why
                unconverted += bool(text)
            else:
                values.append(value)
        return tuple(values), problem, unconverted, cut

    def _text(self, match: SelectorMatch, field: FieldRule) -> str | None:
        """What the rule takes of an element; None where it has no such attribute."""
        if isinstance(match, str):
            return storable(text_of(match))
        if field.attribute:
            attribute = match.attributes.get(field.attribute)
            present = field.attribute in match.attributes
            return storable((attribute or "").strip()) if present else None
        return storable((match.html or "") if field.html else text_of(match))

    def _value(self, text: str, field: FieldRule) -> tuple[FieldValue | None, str]:
        if not text:
            return None, "the element has no text"
        if field.pattern is not None:
            match = field.pattern.search(text[:_LONGEST_SEARCHED])
            if match is None:
                return None, f"{field.pattern.pattern!r} is not in {_shown(text)}"
            text = (match[1] if field.pattern.groups else match[0]) or ""
        if field.kind is FieldKind.URL:
            text = self._links[text.strip()] if text.strip() else ""
        value = convert(text, field.kind, decimal=field.decimal, form=field.form)
        return value, "" if value is not None else f"{_shown(text)} is no {field.kind.value}"

    @cached_property
    def _links(self) -> AbsoluteLinks:
        return links_of_page(self._url, self._tree.base, self._charset)


def _shown(text: str) -> str:
    line = " ".join(text[: 4 * _SHOWN].split())
    return repr(line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…")


def counted(
    rules: Sequence[PageRule], results: Sequence[FieldOutcome]
) -> Iterator[tuple[str, int]]:
    """What the report of a parse says of a page's fields, by counter."""
    yield "fields.pages", 1
    for rule in rules:
        yield f"fields.rule.{rule.name}", 1
    for each in results:
        state = "defaulted" if each.is_default else "found" if each.values else "missing"
        yield f"fields.{state}.{each.name}", 1
        if each.unconverted:
            yield f"fields.unconverted.{each.name}", each.unconverted
        if each.cut:
            yield f"fields.cut.{each.name}", each.cut


def texts_of(outcome: FieldOutcome) -> list[str]:
    """The values as metadata keep them."""
    return [as_text(value) for value in outcome.values]
