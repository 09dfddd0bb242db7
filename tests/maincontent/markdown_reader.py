"""Markdown read back by a parser of CommonMark with GitHub's tables and struck text, as words and
what is said of them."""

from __future__ import annotations

from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.maincontent.nestings import Around, Item, Quotation, Word

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_EMPHASIS = {"strong": "bold", "em": "italic", "s": "struck"}


def words_of(markdown: str) -> list[Word]:
    """Texts in order; none of them is taken apart."""
    return list(_Reading().read(READER.parse(markdown)))


class _Reading:
    def __init__(self) -> None:
        self._around: Around = ()
        self._lists: list[tuple[int, int | None]] = []
        """Of each that is open its identity, and the number of its next item."""
        self._heading = 0
        self._count = 0

    def _id(self) -> int:
        self._count += 1
        return self._count

    def read(self, tokens: list[Token]) -> Iterator[Word]:
        for token in tokens:
            kind = token.type
            if kind in ("ordered_list_open", "bullet_list_open"):
                first = int(token.attrs.get("start", 1)) if kind[0] == "o" else None
                self._lists.append((self._id(), first))
            elif kind in ("ordered_list_close", "bullet_list_close"):
                self._lists.pop()
            elif kind == "list_item_open":
                list_id, number = self._lists[-1]
                self._around = (*self._around, Item(self._id(), list_id, number))
                self._lists[-1] = (list_id, None if number is None else number + 1)
            elif kind == "blockquote_open":
                self._around = (*self._around, Quotation(self._id()))
            elif kind in ("list_item_close", "blockquote_close"):
                self._around = self._around[:-1]
            elif kind in ("heading_open", "heading_close"):
                self._heading = int(token.tag[1]) if kind == "heading_open" else 0
            elif kind in ("fence", "code_block"):
                assert kind == "fence", token.content
                yield Word(token.content, self._around, is_preformatted=True)
            elif kind == "inline":
                yield from self._inline(token.children or [])
            else:
                known = kind.startswith(("paragraph", "table", "thead", "tbody", "tr", "th", "td"))
                assert known, f"{kind}: {token.content}"

    def _inline(self, tokens: list[Token]) -> Iterator[Word]:
        emphasis: frozenset[str] = frozenset()
        for token in tokens:
            kind, _, edge = token.type.rpartition("_")
            if kind in _EMPHASIS:
                emphasis ^= {_EMPHASIS[kind]}
                assert edge in ("open", "close")
            elif token.type == "code_inline":
                yield Word(token.content, self._around, emphasis | {"code"}, self._heading)
            elif token.type == "text":
                yield Word(token.content, self._around, emphasis, self._heading)
            else:
                is_break = token.type in ("softbreak", "hardbreak") or token.content == "<br>"
                assert is_break, f"{token.type}: {token.content}"
                yield Word("\n", self._around, emphasis, self._heading)
