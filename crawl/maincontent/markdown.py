"""A block's text as Markdown that says what the page said: emphasis and code are spelled where a
reader of CommonMark takes them for it, and characters that it would take for something else bear
a backslash.

A backslash stands only where it is needed, for datasets want clean text: `snake_case`, `2 * 3` and
a lone `[1]` stay as they are. tests/exporting/page/test_markdown.py holds it against a parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from html.entities import html5
from itertools import islice
from unicodedata import category

from crawl.maincontent.blocks import BOLD, BREAK, CODE, ITALIC, MARKS, Block, Kind

_STAR, _SPAN = "\x05", "\x06"
"""In a text that is being spelled: an asterisk of ours, and the place of a code span."""
_OURS = str.maketrans(dict.fromkeys(_STAR + _SPAN))

_SPECIAL = re.compile(rf"[{MARKS}{_STAR}{_SPAN}\\`*_~\[<&]")
_PAGES_OWN = re.compile(r"[\\`*_~\]<&]")
_EMPHASIS = re.compile(f"[{BOLD}{ITALIC}{BREAK}]")
_CODE = re.compile(f"{CODE}([^{CODE}]*){CODE}")
_DOUBLED = re.compile(f"{BOLD}{BOLD}|{ITALIC}{ITALIC}")
_PLACES = re.compile(f"{_SPAN}+")
_TICKS = re.compile("`+")
_LINE_BLANKS = re.compile(" *\n *")
_WITHOUT_EMPHASIS = str.maketrans(dict.fromkeys(BOLD + ITALIC))
_WITHOUT_MARKS = str.maketrans({BOLD: None, ITALIC: None, CODE: None, BREAK: " "})

_ESCAPABLE = re.compile(r"\\|`+|\*+|_+|~+|\](?=\()|<(?=[^\s<>])|&(?=#?\w+;)")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_ENTITY = re.compile(r"&(?:#(?:\d{1,7}|[xX][0-9a-fA-F]{1,6});|(\w+;))")
_STARTERS = frozenset("#>-+*`~_=|:<[0123456789")
_HEADING = re.compile("#{1,6}(?= |$)")
_NUMBER = re.compile(r"([0-9]{1,9})[.)](?: |$)")
_TASK = re.compile(r"\[[ xX]\](?: |$)")
_CLOSING = re.compile("(?:^| )#+$")
_MOST_MARKS = 8
"""That are looked past for the character beside a delimiter."""


def inline(text: str) -> str:
    """A block's text; its lines end where the page breaks them."""
    spelled, spans = _spelled(text)
    defines = any("]:" in each for each in (spelled, *spans))
    lines = [line for line in spelled.split("\n") if line]
    guarded = [
        _guarded(line, is_first=not place, defines=defines) for place, line in enumerate(lines)
    ]
    return _finished("\n".join(guarded), spans)


def cell(blocks: Sequence[Block]) -> str:
    """The blocks of a cell of a table, which is one line and has neither lists nor fences."""
    lines = [line for block in blocks for line in _cell_lines(block)]
    spelled = _finished(*_spelled(BREAK.join(lines)))
    return spelled.replace("\n", "<br>").replace("|", "\\|")


def _cell_lines(block: Block) -> Iterator[str]:
    if block.kind is Kind.CODE:
        lines = block.text.translate(_WITHOUT_MARKS).split("\n")
        yield from (f"{CODE}{line}{CODE}" for line in lines if line.strip())
    else:
        yield f"{block.marker} {block.text}" if block.marker else block.text


def heading(text: str) -> str:
    """The same behind the marks of a heading, without emphasis."""
    line = " ".join(text.translate(_WITHOUT_MARKS).split())
    line = _finished(*_spelled(line))
    closing = _CLOSING.search(line)
    if closing is None:
        return line
    at = closing.end() - 1
    return f"{line[:at]}\\{line[at:]}"


def code_span(text: str) -> str:
    """One line of code between backticks, of which there are more than in it."""
    longest = max((len(found[0]) for found in _TICKS.finditer(text)), default=0)
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
    spans: list[str] = []
    if CODE in text:
        text = _with_places(text, spans)
    if BOLD in text or ITALIC in text:
        text = _DOUBLED.sub("", text)  # one ends where the next begins: they are one
    return _emphasized(_escaped(text, spans)), spans


def _finished(text: str, spans: list[str]) -> str:
    if spans:
        # code that touches other code is one, for their backticks would be
        following = iter(spans)
        text = _PLACES.sub(lambda found: code_span("".join(islice(following, len(found[0])))), text)
    return text.replace(_STAR, "*") if _STAR in text else text


def _with_places(text: str, spans: list[str]) -> str:
    """The text with places for its code spans; code that is more than a line is text."""

    def place(found: re.Match[str]) -> str:
        inside = found[1].translate(_WITHOUT_EMPHASIS)
        words = inside.strip()
        if not words or BREAK in words:
            return found[1]
        spans.append(words)
        lead = " " if inside[0] == " " else ""
        tail = " " if inside[-1] == " " else ""
        return f"{lead}{_SPAN}{tail}"

    return _CODE.sub(place, text).replace(CODE, "")


# --- emphasis --------------------------------------------------------------------------
class _Side(IntEnum):
    """What stands beside a delimiter, as CommonMark asks."""

    BLANK = 0
    PUNCTUATION = 1
    WORD = 2
    UNSURE = 3
    """A symbol, which older readers take for a letter, or a mark, of which nothing may stay."""


def _side(character: str) -> _Side:
    if not character or character.isspace():
        return _Side.BLANK
    if character in _PUNCTUATION or character == _SPAN:
        return _Side.PUNCTUATION
    if character.isalnum():
        return _Side.WORD
    if character in MARKS:
        return _Side.UNSURE
    kind = category(character)[0]
    if kind == "S":
        return _Side.UNSURE
    return _Side.PUNCTUATION if kind == "P" else _Side.WORD


def _emphasized(text: str) -> str:
    """Marks as asterisks: pairs that have something between them, inside of which blanks are no
    part of the emphasis. Of pairs inside each other the inner one is spelled."""
    if not _EMPHASIS.search(text):
        return text.strip()
    pieces: list[str] = []
    opened: dict[str, int] = {}
    at = 0
    for found in _EMPHASIS.finditer(text):
        mark = found[0]
        pieces.append(text[at : found.start()])
        at = found.end()
        if mark == BREAK:
            pieces.append("\n")
        elif mark not in opened:
            opened[mark] = len(pieces)
            pieces.append("")
        else:
            _close(pieces, opened.pop(mark), mark, _next_character(text, at))
    pieces.append(text[at:])
    joined = "".join(pieces)
    return _LINE_BLANKS.sub("\n", joined).strip() if "\n" in joined else joined.strip()


def _close(pieces: list[str], start: int, mark: str, following: str) -> None:
    inside = "".join(pieces[start + 1 :])
    words = inside.strip()
    if not words or "\n" in words or _STAR in words:
        return  # nothing, or nothing that Markdown could say so
    lead = inside[: len(inside) - len(inside.lstrip())]
    tail = inside[len(inside.rstrip()) :]
    before = lead or _last_character(pieces, start)
    after = tail or following
    if _STAR in (before, after) or not (
        _is_delimiter(before[-1:], words[0]) and _is_delimiter(after[:1], words[-1])
    ):
        return  # a reader would show the asterisks
    spelled = _STAR * (2 if mark == BOLD else 1)
    pieces[start:] = [f"{lead}{spelled}{words}{spelled}{tail}"]


def _is_delimiter(outside: str, inside: str) -> bool:
    """Whether every reader takes an asterisk between the two for the beginning or the end of
    emphasis."""
    if _side(inside) is _Side.WORD:
        return True
    # the end of a line is one, or `<br>`
    return outside == BREAK or _side(outside) in (_Side.BLANK, _Side.PUNCTUATION)


def _next_character(text: str, at: int) -> str:
    """The first character from there that is none of our marks; a mark where there are many."""
    for place in range(at, min(at + _MOST_MARKS, len(text))):
        if text[place] not in (BOLD, ITALIC):
            return text[place]
    return BOLD if at + _MOST_MARKS < len(text) else ""


def _last_character(pieces: list[str], end: int) -> str:
    for place in range(end - 1, max(-1, end - 1 - _MOST_MARKS), -1):
        if pieces[place]:
            return pieces[place][-1]
    return BOLD if end > _MOST_MARKS else ""


# --- what the page says and Markdown would not -----------------------------------------
def _escaped(text: str, spans: Sequence[str]) -> str:
    """The text with backslashes before what would be read as emphasis, code, a link, markup or an
    entity."""
    if not _PAGES_OWN.search(text):
        return text
    emphasis = BOLD in text or ITALIC in text
    runs = {
        "`": "`" in text and (bool(spans) or len(_TICKS.findall(text)) > 1),
        "*": "*" in text and (emphasis or _may_pair(text, "*")),
        "_": "_" in text and _may_pair(text, "_"),
        "~": "~" in text and _may_pair(text, "~"),
    }
    # what begins before code may end in it
    has_tags = any(">" in each for each in (text, *spans))
    has_addresses = any("@" in each for each in (text, *spans))
    has_brackets = "[" in text

    def replacement(found: re.Match[str]) -> str:
        piece = found[0]
        first = piece[0]
        if first in runs:
            if not runs[first] or (first != "`" and not any(_opens_and_closes(text, found, first))):
                return piece
            return "".join(f"\\{each}" for each in piece)
        if first == "\\":
            following = text[found.end() : found.end() + 1]
            needed = not following or following in _PUNCTUATION or following in MARKS + _SPAN
        elif first == "<":
            following = text[found.end() : found.end() + 1]
            needed = has_tags and (has_addresses or _is_tag(following))
        elif first == "&":
            entity = _ENTITY.match(text, found.start())
            needed = entity is not None and (entity[1] is None or entity[1] in html5)
        else:
            needed = has_brackets
        return f"\\{piece}" if needed else piece

    return _ESCAPABLE.sub(replacement, text)


def _may_pair(text: str, character: str) -> bool:
    """Whether some run of the character may begin emphasis that a later one ends."""
    may_be_open = False
    for found in re.finditer(f"\\{character}+" if character == "*" else f"{character}+", text):
        opens, closes = _opens_and_closes(text, found, character)
        if closes and may_be_open:
            return True
        may_be_open = may_be_open or opens
    return False


def _opens_and_closes(text: str, found: re.Match[str], character: str) -> tuple[bool, bool]:
    """Whether any reader may take a run of delimiters for a beginning, and for an end."""
    before = _side(text[found.start() - 1 : found.start()] if found.start() else "")
    after = _side(text[found.end() : found.end() + 1])
    opens, closes = _may_flank(before, after), _may_flank(after, before)
    if character == "_":  # which has no meaning between letters
        within = _Side.WORD
        return opens and before is not within, closes and after is not within
    return opens, closes


def _may_flank(outside: _Side, inside: _Side) -> bool:
    if inside is _Side.BLANK:
        return False
    return inside is not _Side.PUNCTUATION or outside is not _Side.WORD


def _is_tag(following: str) -> bool:
    """Whether a `<` before this may begin markup; an address is the other thing that it may."""
    return (following.isascii() and following.isalpha()) or following in ("/", "!", "?")


def _guarded(line: str, *, is_first: bool, defines: bool) -> str:
    """A line that begins like a heading, an item, a quotation, a fence, a rule, markup or a
    definition, with a backslash that says it is none; the others as they are. `defines`: the block
    has what ends a definition's name."""
    first = line[0]
    if first not in _STARTERS:
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
    if first in "-_*" and set(line) <= {first, " "} and line.count(first) >= 3:
        return True
    if first in "`~":
        return line.startswith(3 * first)
    if is_first:
        return False
    if first == "=":
        return set(line) <= {"=", " "}
    return first in "-:|" and "-" in line and set(line) <= set("-:| ")
