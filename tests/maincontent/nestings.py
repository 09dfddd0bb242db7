"""Pages of elements nested at random, each with what a reader of it should be told.

Every word is a token of its own (`w17x`), so that a word which is lost, moved or invented is
noticed, and so is one that leaves its item, its quotation or its emphasis.
"""

from __future__ import annotations

import html
import random
from collections.abc import Callable
from dataclasses import dataclass, field

_EMPHASIS = {
    **dict.fromkeys(("b", "strong"), "bold"),
    **dict.fromkeys(("i", "em"), "italic"),
    **dict.fromkeys(("code", "tt"), "code"),
    **dict.fromkeys(("del", "s", "strike"), "struck"),
}
_NEUTRAL = ("span", "ins", "u", "mark", "small", "a")
_NOISE = (
    *("*", "_", "~", "`", "#", "-", "+", "1.", "2)", "&", "<", ">", "[", "]", "(", "…", "“", "”"),
    *("**", "~~", "__", "a_b", "\\", "![x](y)", "&amp;", "€", "漢字", "é", "=", "---", ":", "!"),
)
_FORMULAS = (
    ("y<sup>2</sup>", "y²"),
    ("e<sup>k+1</sup>", "e^(k+1)"),
    ("H<sub>2</sub>O", "H₂O"),
    ("5<sup>th</sup>", "5th"),
    ('<math alttext="c^2"><mi>c</mi><mn>2</mn></math>', "c^2"),
    (
        "<math><semantics><mi>q</mi><annotation encoding='application/x-tex'>\\frac q2"
        "</annotation></semantics></math>",
        "\\fracq2",
    ),
    ("<math><msup><mi>u</mi><mn>3</mn></msup><mo>+</mo><mn>5</mn></math>", "u³+5"),
)


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list."""

    id: int
    list_id: int
    number: int | None


@dataclass(frozen=True, slots=True)
class Quotation:
    id: int


Around = tuple[Item | Quotation, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the page, and what is said of it."""

    text: str
    around: Around = ()
    emphasis: frozenset[str] = frozenset()
    heading: int = 0
    is_preformatted: bool = False
    is_token: bool = True


@dataclass(slots=True)
class Nesting:
    """A page, and its words in order."""

    markup: str
    words: list[Word]
    is_spaced: bool
    """Whether blanks are around each element, so that Markdown can say all of its emphasis."""
    whole_lists: set[int] = field(default_factory=set)
    """Lists whose items all follow each other, so that Markdown can show each as one."""


class _Maker:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.words: list[Word] = []
        self.whole_lists: set[int] = set()
        self.is_spaced = self.chance.random() < 0.6
        self._around: Around = ()
        self._emphasis: frozenset[str] = frozenset()
        self._heading = 0
        self._is_preformatted = False
        self._in_cell = False
        self._in_link = False
        self._count = 0
        self._block_makers: tuple[Callable[[int], str], ...] = (
            *(self._paragraph, self._paragraph, self._loose, self._list, self._list, self._list),
            *(self._quotation, self._quotation, self._pre, self._title, self._table, self._layout),
            *(self._wrapped, self._emphasized_blocks, self._rule, self._definitions),
        )

    def _id(self) -> int:
        self._count += 1
        return self._count

    # --- words and what is inside of lines ---------------------------------------------
    def _say(self, text: str, *, is_token: bool) -> None:
        self.words.append(
            Word(
                text,
                self._around,
                self._emphasis,
                self._heading,
                self._is_preformatted,
                is_token,
            )
        )

    def _token(self) -> str:
        word = f"w{self._id()}x"
        self._say(word, is_token=True)
        return word

    def _noise(self) -> str:
        if self.chance.random() < 0.3 and "code" not in self._emphasis:
            markup, said = self.chance.choice(_FORMULAS)
            self._say(said, is_token=False)
            return markup
        noise = self.chance.choice(_NOISE)
        self._say(noise, is_token=False)
        return html.escape(noise, quote=False)

    def _phrase(self, depth: int) -> str:
        chance = self.chance.random()
        if depth <= 0 or chance < 0.45:
            return self._token()
        if chance < 0.6:
            return self._noise()
        if chance < 0.66:
            return "<br>"
        tag = self.chance.choice((*_EMPHASIS, *_EMPHASIS, *_NEUTRAL))
        if tag == "a" and self._in_link:
            tag = "span"
        before, in_link = self._emphasis, self._in_link
        self._emphasis = self._with(tag)
        self._in_link = self._in_link or tag == "a"
        inside = self._line(depth - 1)
        self._emphasis, self._in_link = before, in_link
        blank = self.chance.choice(("", "", " "))
        return f"<{tag}>{blank}{inside}{blank}</{tag}>"

    def _with(self, tag: str) -> frozenset[str]:
        """What is said of words in the element. Code is not emphasized, but as a whole."""
        said = _EMPHASIS.get(tag, "")
        if not said or ("code" in self._emphasis and said != "struck"):
            return self._emphasis
        return self._emphasis | {said}

    def _line(self, depth: int = 3) -> str:
        phrases = [self._phrase(depth) for _ in range(self.chance.randint(1, 4))]
        if self.is_spaced:
            return " ".join(phrases)
        return "".join(phrase + self.chance.choice(("", " ")) for phrase in phrases)

    # --- blocks ------------------------------------------------------------------------
    def _paragraph(self, _depth: int) -> str:
        return f"<p>{self._line()}</p>"

    def _loose(self, _depth: int) -> str:
        return f"{self._line()}\n"

    def _rule(self, _depth: int) -> str:
        return "<hr>"

    def _title(self, _depth: int) -> str:
        self._heading = self.chance.randint(1, 6)
        tag = f"h{self._heading}"
        found = f"<{tag}>{self._line()}</{tag}>"
        self._heading = 0
        return found

    def _pre(self, _depth: int) -> str:
        self._is_preformatted = True
        lines = [
            " " * self.chance.randint(0, 3) + self._line(1).replace("<br>", "\n\n")
            for _ in range(self.chance.randint(1, 3))
        ]
        self._is_preformatted = False
        return f"<pre>{chr(10).join(lines)}</pre>"

    def _quotation(self, depth: int) -> str:
        return f"<blockquote>{self._inside(Quotation(self._id()), depth)}</blockquote>"

    def _list(self, depth: int) -> str:
        list_id = self._id()
        is_ordered = self.chance.random() < 0.5
        count = self.chance.randint(1, 4)
        attributes, number, step = "", 1, 1
        if is_ordered and self.chance.random() < 0.3:
            number = self.chance.choice((0, 3, 9, 99, 123456789, 999999990))
            attributes = f' start="{number}"'
        elif is_ordered and self.chance.random() < 0.2:
            attributes, number, step = " reversed", count, -1
        is_whole = step == 1 or count == 1
        items: list[str] = []
        for _ in range(count):
            value = ""
            if is_ordered and number < 10**8 and self.chance.random() < 0.1:
                is_whole = is_whole and not items
                number = self.chance.choice((0, 7, 40))
                value = f" value={number}"
            item = Item(self._id(), list_id, number if is_ordered else None)
            items.append(f"<li{value}>{self._inside(item, depth)}</li>")
            number = max(0, number + step)
            if step < 0 and not number and len(items) < count:
                break
        if attributes == " reversed" and len(items) != count:
            attributes = f' reversed start="{count}"'
        if is_whole:
            self.whole_lists.add(list_id)
        tag = "ol" if is_ordered else self.chance.choice(("ul", "ul", "menu"))
        return f"<{tag}{attributes}>{''.join(items)}</{tag}>"

    def _inside(self, enclosure: Item | Quotation, depth: int) -> str:
        before = self._around
        self._around = (*before, enclosure)
        found = self._token() + " " if self.chance.random() < 0.7 else ""
        found += self._blocks(depth - 1)
        if not any(enclosure in word.around for word in self.words):
            found += self._token()
        self._around = before
        return found

    def _table(self, _depth: int) -> str:
        width = self.chance.randint(2, 3)
        caption = f"<caption>{self._line(1)}</caption>" if self.chance.random() < 0.3 else ""
        rows = [
            "<tr>" + "".join(f"<{tag}>{self._cell()}</{tag}>" for _ in range(width)) + "</tr>"
            for tag in ("th", *["td"] * self.chance.randint(1, 2))
        ]
        return f"<table>{caption}{''.join(rows)}</table>"

    def _cell(self) -> str:
        lines = [self._line(2) for _ in range(self.chance.choice((1, 1, 1, 2)))]
        return lines[0] if len(lines) == 1 else "".join(f"<p>{line}</p>" for line in lines)

    def _layout(self, depth: int) -> str:
        return f"<table><tr><td>{self._blocks(depth - 1)}</td></tr></table>"

    def _wrapped(self, depth: int) -> str:
        tag = self.chance.choice(("div", "section", "figure", "center", "details"))
        return f"<{tag}>{self._blocks(depth - 1)}</{tag}>"

    def _emphasized_blocks(self, depth: int) -> str:
        tag = self.chance.choice(("b", "i", "em", "strong", "del", "code"))
        before = self._emphasis
        self._emphasis = self._with(tag)
        found = f"<{tag}><div>{self._blocks(depth - 1)}</div></{tag}>"
        self._emphasis = before
        return found

    def _definitions(self, depth: int) -> str:
        return f"<dl><dt>{self._line(2)}</dt><dd>{self._blocks(depth - 1)}</dd></dl>"

    def _blocks(self, depth: int) -> str:
        if depth <= 0:
            return self._line()
        makers = self.chance.choices(self._block_makers, k=self.chance.randint(1, 3))
        return "".join(make(depth) for make in makers)

    def nesting(self) -> Nesting:
        markup = "".join(self._blocks(4) for _ in range(self.chance.randint(1, 2)))
        return Nesting(markup, self.words, self.is_spaced, self.whole_lists)


def nesting(seed: int) -> Nesting:
    """A page of nested elements; the same for the same seed."""
    return _Maker(seed).nesting()
