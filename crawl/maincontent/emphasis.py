"""Marks as Markdown's delimiters: `**bold**`, `*slanted*`, `~~struck~~`.

The text is cut where the emphasis changes, blanks and line breaks are taken out of it at its ends,
and what follows from each other becomes one. A pair of delimiters is written where every reader
of CommonMark takes it for one; emphasis that Markdown cannot say is left out, and struck text that
it cannot say is left out by who asks, for it must not stand as if it were valid.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from unicodedata import category

from crawl.maincontent.blocks import BOLD, BREAK, ITALIC, MARKS, STRIKE

STAR, SPAN = "\x06", "\x07"
"""In a text that is being spelled: an asterisk of ours, and the place of a code span."""

PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_EMPHASIS = re.compile(f"([{BOLD}{ITALIC}{BREAK}{STRIKE}])")
_BIT = {STRIKE: 1, BOLD: 2, ITALIC: 4}
"""What lasts as long as another is outside of it in this order."""
_STRUCK = _BIT[STRIKE]
_ASTERISKS = _BIT[BOLD] | _BIT[ITALIC]
_STARS = {2: STAR * 2, 4: STAR}
_UNDERSCORES = {2: "__", 4: "_"}


class Side(IntEnum):
    """What stands beside a delimiter, as CommonMark asks."""

    BLANK = 0
    PUNCTUATION = 1
    WORD = 2
    UNSURE = 3
    """A symbol, which older readers take for a letter, or a mark, of which nothing may stay."""


def side(character: str) -> Side:
    if not character or character.isspace():
        return Side.BLANK
    if character in PUNCTUATION or character == SPAN:
        return Side.PUNCTUATION
    if character.isalnum():
        return Side.WORD
    if character in MARKS:
        return Side.UNSURE
    kind = category(character)[0]
    if kind == "S":
        return Side.UNSURE
    return Side.PUNCTUATION if kind == "P" else Side.WORD


@dataclass(slots=True, eq=False)
class _Segment:
    """A piece of text all of which is emphasized alike."""

    style: int
    text: str


@dataclass(slots=True, eq=False)
class _Pair:
    """Emphasis of one kind, over segments that follow each other."""

    bit: int
    start: int
    end: int
    delimiter: str = ""
    """None where Markdown cannot say it."""


def emphasized(text: str) -> str | None:
    """A text, whose own characters are escaped, with delimiters for its marks and line ends for
    its breaks. None if it has struck text of which Markdown cannot say so."""
    if not _EMPHASIS.search(text):
        return text.strip()
    pieces = _EMPHASIS.split(text)
    if _is_simple(pieces):
        return _simple(pieces)
    segments = _segments(pieces)
    if not any(segment.style for segment in segments):
        return "".join(segment.text for segment in segments).strip()
    pairs = _pairs(segments)
    _choose_delimiters(segments, pairs, has_underscores="_" in text)
    if any(pair.bit == _STRUCK and not pair.delimiter for pair in pairs):
        return None
    return _written(segments, pairs).strip()


def _is_simple(pieces: list[str]) -> bool:
    """Whether texts and marks are one pair of asterisks with text on both sides, as most are."""
    if len(pieces) != 5 or pieces[1] != pieces[3] or pieces[1] not in (BOLD, ITALIC):
        return False
    before, _, inside, _, after = pieces
    if not inside or inside.isspace():
        return False
    has_two_blanks = before.endswith(" ") and inside[0] == " "
    return not has_two_blanks and not (inside[-1] == " " and after.startswith(" "))


def _simple(pieces: list[str]) -> str:
    before, mark, inside, _, after = pieces
    words = inside.strip()
    lead, tail = inside[: inside.index(words[0])], inside[len(inside.rstrip()) :]
    if _is_delimiter((before + lead)[-1:], words[0], False) and _is_delimiter(
        (tail + after)[:1], words[-1], False
    ):
        delimiter = _STARS[_BIT[mark]]
        words = f"{delimiter}{words}{delimiter}"
    return f"{before}{lead}{words}{tail}{after}".strip()


# --- segments --------------------------------------------------------------------------
def _segments(pieces: list[str]) -> list[_Segment]:
    """Texts and marks as segments, none of which begins or ends with a blank that is emphasized
    unlike what is beside it."""
    segments: list[_Segment] = []
    style = 0
    for piece in pieces:
        if piece in _BIT:
            style ^= _BIT[piece]
        elif piece == BREAK:
            segments.append(_Segment(0, "\n"))
        elif piece:
            lead, words, tail = _split_blanks(piece)
            if lead and segments and segments[-1].text == " ":
                segments[-1].style &= style  # one blank for two
                lead = ""
            segments.extend(_Segment(style, part) for part in (lead, words, tail) if part)
    _take_blanks_out(segments)
    return _merged(segments)


def _split_blanks(piece: str) -> tuple[str, str, str]:
    words = piece.strip()
    if not words:
        return piece, "", ""
    start = piece.index(words[0])
    return piece[:start], words, piece[start + len(words) :]


def _take_blanks_out(segments: list[_Segment]) -> None:
    """Leaves blanks what is said of the words on both sides, and of them."""
    for ordered in (segments, segments[::-1]):
        beside = 0
        for segment in ordered:
            is_blank = segment.text.isspace()
            if is_blank:
                segment.style &= beside
            if segment.text == "\n" or not is_blank:
                beside = segment.style


def _merged(segments: list[_Segment]) -> list[_Segment]:
    """One segment for those beside each other that are emphasized alike, one blank for two, and
    none beside a line's end."""
    texts: list[list[str]] = []
    styles: list[int] = []
    last = "\n"
    for segment in segments:
        text = segment.text
        if last.isspace():
            text = "\n" if text == "\n" and last != "\n" else text.lstrip()
            if text == "\n" and texts:
                texts[-1][-1] = texts[-1][-1].rstrip()
        if not text:
            continue
        last = text[-1]
        if styles and styles[-1] == segment.style:
            texts[-1].append(text)
        else:
            texts.append([text])
            styles.append(segment.style)
    joined = zip(styles, map("".join, texts), strict=True)
    return [_Segment(style, text) for style, text in joined if text]


# --- pairs -----------------------------------------------------------------------------
def _pairs(segments: list[_Segment]) -> list[_Pair]:
    """Pairs of delimiters that lie in each other or beside each other, in the order in which they
    begin; of those that begin together, the one that lasts longer is outside."""
    lasts = _lasts(segments)
    pairs: list[_Pair] = []
    opened: list[_Pair] = []
    for place, segment in enumerate(segments):
        style = segment.style
        while opened and any(not style & pair.bit for pair in opened):
            opened.pop().end = place
        inside = sum(pair.bit for pair in opened)
        missing = [bit for bit in _BIT.values() if style & bit and not inside & bit]
        for bit in sorted(missing, key=lambda bit: -lasts[bit][place]):
            pair = _Pair(bit, place, len(segments))
            opened.append(pair)
            pairs.append(pair)
    return pairs


def _lasts(segments: list[_Segment]) -> dict[int, list[int]]:
    """For each kind of emphasis and each segment, where it ends if it is there."""
    lasts: dict[int, list[int]] = {}
    for bit in _BIT.values():
        ends = [0] * len(segments)
        end = len(segments)
        for place in range(len(segments) - 1, -1, -1):
            if not segments[place].style & bit:
                end = place
            ends[place] = end
        lasts[bit] = ends
    return lasts


def _choose_delimiters(
    segments: list[_Segment], pairs: list[_Pair], *, has_underscores: bool
) -> None:
    """Gives each pair a delimiter that readers take for it, if there is one."""
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    for pair in pairs:
        starts[pair.start] = starts.get(pair.start, 0) | pair.bit
        ends[pair.end] = ends.get(pair.end, 0) | pair.bit
    ended: dict[int, int] = {}
    """Where pairs end that have delimiters, and of which kinds."""
    around: list[_Pair] = []
    """Pairs of asterisks around this one."""
    struck: _Pair | None = None
    """The last pair of tildes."""
    for pair in pairs:
        start, end = pair.start, pair.end
        while around and around[-1].end <= start:
            around.pop()
        before = segments[start - 1].text[-1] if start else ""
        after = segments[end].text[0] if end < len(segments) else ""
        first, last = segments[start].text[0], segments[end - 1].text[-1]
        mixed = _is_mixed(starts[start]), _is_mixed(ends[end])
        if not (_is_delimiter(before, first, mixed[0]) and _is_delimiter(after, last, mixed[1])):
            continue
        if pair.bit != _STRUCK and around and start != around[-1].start:
            # one that could end as well as begin would end one around it that began with three
            is_behind_tilde = struck is not None and struck.start == start
            if starts[around[-1].start] & _ASTERISKS == _ASTERISKS and not _is_clear(
                "~" if is_behind_tilde else before, first
            ):
                continue
        if pair.bit == _STRUCK:
            if ended.get(start, 0) & _STRUCK:
                continue
            pair.delimiter = "~~"
            struck = pair
        elif not ended.get(start, 0) & ~_STRUCK:
            pair.delimiter = _STARS[pair.bit]
        elif (
            not has_underscores
            and side(first) is Side.WORD
            and side(after) in (Side.BLANK, Side.PUNCTUATION)
            and starts[start] == pair.bit
        ):
            pair.delimiter = _UNDERSCORES[pair.bit]
        else:
            continue
        ended[end] = ended.get(end, 0) | pair.bit
        if pair.bit != _STRUCK:
            around.append(pair)


def _is_mixed(bits: int) -> bool:
    """Whether tildes and asterisks stand beside each other, where kinds of both begin or end."""
    return bool(bits & _STRUCK) and bits != _STRUCK


def _is_delimiter(outside: str, inside: str, is_mixed: bool) -> bool:
    """Whether every reader takes a delimiter between the two for the beginning or the end of
    emphasis."""
    within = side(inside)
    if within is Side.BLANK:
        return False
    if within is Side.WORD and not is_mixed:
        return True
    return side(outside) in (Side.BLANK, Side.PUNCTUATION)


def _is_clear(outside: str, inside: str) -> bool:
    """Whether no reader takes a delimiter between the two for the other thing."""
    beside = side(outside)
    return beside is Side.BLANK or (beside is Side.PUNCTUATION and side(inside) is Side.WORD)


def _written(segments: list[_Segment], pairs: list[_Pair]) -> str:
    opening: dict[int, list[str]] = {}
    closing: dict[int, list[str]] = {}
    for pair in pairs:
        if pair.delimiter:
            opening.setdefault(pair.start, []).append(pair.delimiter)
            closing.setdefault(pair.end, []).append(pair.delimiter)
    pieces: list[str] = []
    for place in range(len(segments) + 1):
        pieces.extend(reversed(closing.get(place, ())))
        pieces.extend(opening.get(place, ()))
        if place < len(segments):
            pieces.append(segments[place].text)
    return "".join(pieces)
