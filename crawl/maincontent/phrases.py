"""The text of the block that is being read, with marks for what elements say of its parts."""

from __future__ import annotations

import re

from crawl.maincontent.blocks import BREAK, MARKS, MARKS_AND_BLANK, STRIKE
from crawl.maincontent.elements import INLINE
from crawl.maincontent.scripts import lowered, raised

_MAX_PIECES = 20
"""Of a raised or lowered text; one of more pieces is taken as it is."""
_WITHOUT_MARKS = str.maketrans(dict.fromkeys(MARKS))
_STRUCK = re.compile(f"{STRIKE}[^{STRIKE}]*{STRIKE}?")


def without_struck(text: str) -> str:
    """Without what the page takes back."""
    return _STRUCK.sub("", text) if STRIKE in text else text


class Phrases:
    """Pieces of text and marks. An element that says what one around it says already is not
    marked; one that goes on behind the block's end is marked anew in the next block."""

    __slots__ = ("_depths", "_marks", "_raised", "_taken", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._depths = dict.fromkeys(INLINE.values(), 0)
        self._marks: list[str] = []
        """Those that are open, outermost first."""
        self._raised: list[tuple[int, int]] = []
        """For each `sup` and `sub` that is open, where it begins in which block."""
        self._taken = 0

    def start(self, tag: str) -> None:
        mark = INLINE.get(tag)
        if mark is None:
            self._raised.append((self._taken, len(self.pieces)))
            return
        self._depths[mark] += 1
        if self._depths[mark] == 1:
            self._marks.append(mark)
            self.pieces.append(mark)

    def end(self, tag: str) -> None:
        mark = INLINE.get(tag)
        if mark is None:
            self._end_raised(tag)
            return
        self._depths[mark] -= 1
        if not self._depths[mark]:
            self._marks.remove(mark)  # it is the last
            self.pieces.append(mark)

    def take(self, is_code: bool) -> str:
        """The text of the block, which ends here; where it is code, without marks but those that
        strike out all of it. Nothing where it has no words."""
        pieces = self.pieces
        if self._marks:
            pieces.extend(reversed(self._marks))
        raw = pieces[0] if len(pieces) == 1 else "".join(pieces)
        pieces.clear()
        if self._marks:
            pieces.extend(self._marks)
        if self._raised:
            self._taken += 1
        if is_code:
            text = without_struck(raw).translate(_WITHOUT_MARKS).strip("\n").rstrip()
            if not text and STRIKE in raw:
                struck = raw.translate(_WITHOUT_MARKS).strip("\n").rstrip()
                return f"{STRIKE}{struck}{STRIKE}" if struck else ""
            return text
        text = " ".join(raw.split())
        return "" if text[:1] in MARKS and not text.strip(MARKS_AND_BLANK) else text

    def _end_raised(self, tag: str) -> None:
        taken, start = self._raised.pop()
        pieces = self.pieces
        if taken != self._taken or not 0 < len(pieces) - start <= _MAX_PIECES:
            return
        inside = "".join(pieces[start:])
        plain = inside.replace(BREAK, " ").translate(_WITHOUT_MARKS)
        text = " ".join(plain.split())
        if not text or STRIKE in inside:
            return
        change = raised if tag == "sup" else lowered
        changed = change(text, self._last_character(start))
        # a note keeps the blanks that part it from words; an exponent belongs to what it stands at
        lead = " " if changed == text and plain[0].isspace() else ""
        tail = " " if plain[-1].isspace() else ""
        pieces[start:] = [f"{lead}{changed}{tail}"]

    def _last_character(self, end: int) -> str:
        for place in range(end - 1, max(-1, end - 6), -1):
            plain = self.pieces[place].translate(_WITHOUT_MARKS)
            if plain:
                return plain[-1]
        return ""
