"""A block's text as Markdown that says what the page said: emphasis and code are spelled where a
reader of CommonMark takes them for it, and characters that it would take for something else bear
a backslash.

A backslash stands only where it is needed, for datasets want clean text: `snake_case`, `2 * 3` and
a lone `[1]` stay as they are. tests/maincontent/ holds it against a parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html.entities import html5
from itertools import islice

from crawl.maincontent.blocks import (
    BOLD,
    BREAK,
    CODE,
    ITALIC,
    MARKS,
    STRIKE,
    Block,
    Enclosure,
    Kind,
)
from crawl.maincontent.emphasis import PUNCTUATION, SPAN, STAR, Side, emphasized, side
from crawl.maincontent.phrases import without_struck

_MARKS = frozenset(MARKS)
_BREAK = re.compile(f" *{BREAK} *")
_BLANKS = re.compile("  +")
_OURS = str.maketrans(dict.fromkeys(STAR + SPAN))

_SPECIAL = re.compile(rf"[{MARKS}{STAR}{SPAN}\\`*_~\[<&]")
_PAGES_OWN = re.compile(r"[\\`*_~\]<&]")
_CODE = re.compile(f"{CODE}([^{CODE}]*){CODE}")
_OUTSIDE_CODE = re.compile(f"([{BREAK}{STRIKE}])")
_PLACES = re.compile(f"{SPAN}+")
_TICKS = re.compile("`+")
_WITHOUT_EMPHASIS = str.maketrans(dict.fromkeys(BOLD + ITALIC))
_WITHOUT_MARKS = str.maketrans({BOLD: None, ITALIC: None, CODE: None, STRIKE: None, BREAK: " "})

_BETWEEN = BOLD + ITALIC + STRIKE
"""Marks between two characters that may be beside each other in the end."""
_ESCAPABLE = re.compile(
    rf"\\|`+|\*+|_+|~+|\](?=[{_BETWEEN}]*\()|<(?=[^\s<>])|&(?=[#\w{_BETWEEN}]+;)"
)
_LONGEST_ENTITY = 60
_WITHOUT_BETWEEN = str.maketrans(dict.fromkeys(_BETWEEN))
_ENTITY = re.compile(r"&(?:#(?:\d{1,7}|[xX][0-9a-fA-F]{1,6});|(\w+;))")
STARTERS = frozenset("#>-+*`~_=|:<[0123456789")
_HEADING = re.compile("#{1,6}(?= |$)")
_NUMBER = re.compile(r"([0-9]{1,9})[.)](?: |$)")
_TASK = re.compile(r"\[[ xX]\](?: |$)")
_CLOSING = re.compile("(?:^| )#+$")


def inline(text: str) -> str:
    """A block's text; its lines end where the page breaks them."""
    spelled, spans = _spelled(text)
    defines = any("]:" in each for each in (spelled, *spans))
    lines = [line for line in spelled.split("\n") if line]
    guarded = [
        _guarded(line, is_first=not place, defines=defines) for place, line in enumerate(lines)
    ]
    return _finished("\n".join(guarded), spans)


def cell(blocks: Sequence[Block], around: Enclosure | None) -> str:
    """The blocks of a cell of a table, which is one line and has neither lists nor fences;
    `around`: what the table lies in."""
    before = around
    lines: list[str] = []
    for block in blocks:
        lines += _cell_lines(block, _marker(block.enclosure, before))
        before = block.enclosure
    spelled = _finished(*_spelled(BREAK.join(lines)))
    return spelled.replace("\n", "<br>").replace("|", "\\|")


def _cell_lines(block: Block, marker: str) -> Iterator[str]:
    if block.kind is Kind.CODE:
        lines = without_struck(block.text).translate(_WITHOUT_MARKS).split("\n")
        yield from (f"{CODE}{line}{CODE}" for line in lines if line.strip())
    else:
        yield f"{marker}{block.text}"


def _marker(enclosure: Enclosure | None, before: Enclosure | None) -> str:
    """What stands before the first block of an item in a cell."""
    if enclosure is None or not enclosure.list_id:
        return ""
    while before is not None:
        if before is enclosure:
            return ""
        before = before.parent
    return "- " if enclosure.number is None else f"{enclosure.number}. "


def heading(text: str) -> str:
    """The same behind the marks of a heading, without emphasis."""
    line = " ".join(without_struck(text).translate(_WITHOUT_MARKS).split())
    line = _finished(*_spelled(line))
    closing = _CLOSING.search(line)
    if closing is None:
        return line
    at = closing.end() - 1
    return f"{line[:at]}\\{line[at:]}"


def code_span(text: str) -> str:
    """One line of code between backticks, of which there are more than in it."""
    longest = max((len(ticks[0]) for ticks in _TICKS.finditer(text)), default=0)
    fence = "`" * (longest + 1)
    # of a blank at both ends readers drop one, and a backtick must not touch the fence
    is_blank = text[0] == text[-1] == " "
    blank = " " if is_blank or "`" in (text[0], text[-1]) else ""
    return f"{fence}{blank}{text}{blank}{fence}"


def _spelled(text: str) -> tuple[str, list[str]]:
    """The text, in which our asterisks are still told from the page's, and the code whose places
    it has."""
    if not _SPECIAL.search(text):
        return text, []
    text = text.translate(_OURS)
    if BREAK in text:
        text = _BREAK.sub(BREAK, text)
    spans: list[str] = []
    placed = _with_places(text, spans) if CODE in text else text
    spelled = emphasized(_escaped(placed, spans))
    if spelled is None:
        return _spelled(_BLANKS.sub(" ", without_struck(text)).strip())
    return spelled, spans


def _finished(text: str, spans: list[str]) -> str:
    if spans:
        # code that touches other code is one, for their backticks would be
        following = iter(spans)
        text = _PLACES.sub(
            lambda places: code_span("".join(islice(following, len(places[0])))), text
        )
    return text.replace(STAR, "*") if STAR in text else text


def _with_places(text: str, spans: list[str]) -> str:
    """The text with places for its code spans."""

    def place(match: re.Match[str]) -> str:
        # what a line break or struck text divides is code for itself
        return "".join(map(one, _OUTSIDE_CODE.split(match[1].translate(_WITHOUT_EMPHASIS))))

    def one(inside: str) -> str:
        words = " ".join(inside.split())
        if not words or words in MARKS:
            return inside
        spans.append(words)
        lead = " " if inside[0] == " " else ""
        tail = " " if inside[-1] == " " else ""
        return f"{lead}{SPAN}{tail}"

    return _BLANKS.sub(" ", _CODE.sub(place, text).replace(CODE, ""))


# --- what the page says and Markdown would not -----------------------------------------
def _escaped(text: str, spans: Sequence[str]) -> str:
    """The text with backslashes before what would be read as emphasis, code, a link, markup or an
    entity."""
    if not _PAGES_OWN.search(text):
        return text
    emphasis = BOLD in text or ITALIC in text
    struck = STRIKE in text
    runs = {
        "`": "`" in text and (bool(spans) or len(_TICKS.findall(text)) > 1),
        "*": "*" in text and (emphasis or _may_pair(text, "*")),
        "_": "_" in text and _may_pair(text, "_"),
        "~": "~" in text and (struck or _may_pair(text, "~")),
    }
    # what begins before code may end in it
    has_tags = any(">" in each for each in (text, *spans))
    has_addresses = any("@" in each for each in (text, *spans))
    has_brackets = "[" in text

    def replacement(match: re.Match[str]) -> str:
        piece = match[0]
        first = piece[0]
        if first in runs:
            if not runs[first] or (first != "`" and not any(_opens_and_closes(text, match, first))):
                return piece
            return "".join(f"\\{each}" for each in piece)
        if first == "\\":
            following = _after(text, match.end())
            needed = not following or following in PUNCTUATION or following in MARKS + SPAN
        elif first == "<":
            following = _following(text, match.end())[:1]
            needed = has_tags and (has_addresses or _is_tag(following))
        elif first == "&":
            entity = _ENTITY.match(_following(text, match.start()))
            needed = entity is not None and (entity[1] is None or entity[1] in html5)
        else:
            needed = has_brackets
        return f"\\{piece}" if needed else piece

    return _ESCAPABLE.sub(replacement, text)


def _may_pair(text: str, character: str) -> bool:
    """Whether some run of the character may begin emphasis that a later one ends."""
    may_be_open = False
    for run in re.finditer(f"\\{character}+" if character == "*" else f"{character}+", text):
        opens, closes = _opens_and_closes(text, run, character)
        if closes and may_be_open:
            return True
        may_be_open = may_be_open or opens
    return False


def _opens_and_closes(text: str, run: re.Match[str], character: str) -> tuple[bool, bool]:
    """Whether any reader may take a run of delimiters for a beginning, and for an end."""
    before = side(_before(text, run.start()))
    after = side(_after(text, run.end()))
    opens, closes = _may_flank(before, after), _may_flank(after, before)
    if character == "_":  # which has no meaning between letters
        within = Side.WORD
        return opens and before is not within, closes and after is not within
    return opens, closes


def _before(text: str, start: int) -> str:
    """The character before this; of a blank behind a mark the mark, for that blank may not stay."""
    before = text[start - 1 : start] if start else ""
    if before == " " and start > 1 and text[start - 2] in _MARKS:
        return text[start - 2]
    return before


def _after(text: str, end: int) -> str:
    after = text[end : end + 1]
    if after == " " and text[end + 1 : end + 2] in _MARKS:
        return text[end + 1]
    return after


def _following(text: str, start: int) -> str:
    """What may follow there, where marks between have no delimiters."""
    return text[start : start + _LONGEST_ENTITY].translate(_WITHOUT_BETWEEN)


def _may_flank(outside: Side, inside: Side) -> bool:
    if inside is Side.BLANK:
        return False
    return inside is not Side.PUNCTUATION or outside is not Side.WORD


def _is_tag(following: str) -> bool:
    """Whether a `<` before this may begin markup; an address is the other thing that it may."""
    return (following.isascii() and following.isalpha()) or following in ("/", "!", "?")


def _guarded(line: str, *, is_first: bool, defines: bool) -> str:
    """A line that begins like a heading, an item, a quotation, a fence, a rule, markup or a
    definition, with a backslash that says it is none; the others as they are. `defines`: the block
    has what ends a definition's name."""
    first = line[0]
    if first not in STARTERS:
        return line
    if first.isdigit():
        number = _NUMBER.match(line)
        if number is None or not (is_first or int(number[1]) == 1):
            return line  # only a list that begins with 1 can follow a line of text
        end = number.end(1)
        return f"{line[:end]}\\{line[end:]}"
    return f"\\{line}" if _begins_a_block(line, is_first, defines) else line


def _begins_a_block(line: str, is_first: bool, defines: bool) -> bool:
    first = line[0]
    if first == "#":
        return _HEADING.match(line) is not None
    if first == ">":
        return True
    if first == "<":
        return _is_tag(line[1:2])
    if first == "[":
        return defines or _TASK.match(line) is not None
    if first in "-+*" and line[1:2] in ("", " "):
        return True
    if first in "-_*" and set(line) <= {first, " "} and (is_first or line.count(first) >= 3):
        return True  # a rule, or one with the marker of an item before it
    if first in "`~":
        return line.startswith(3 * first)
    if is_first:
        return False
    if first == "=":
        return set(line) <= {"=", " "}
    return first in "-:|" and "-" in line and set(line) <= set("-:| ")
