"""Which item of which list, and which quotation, is open while a page is read."""

from __future__ import annotations

import re

from crawl.html.tokens import Attributes
from crawl.maincontent.blocks import MAX_DEPTH, Enclosure

_INTEGER = re.compile(r"[ \t\n\f\r]*([+-]?[0-9]{1,10})", re.ASCII)
_LARGEST = 2**31 - 1
"""That browsers count to."""


class _OpenList:
    """A list while its items are read."""

    __slots__ = ("_is_reversed", "_items", "_number", "id", "last")

    def __init__(self, list_id: int, tag: str, attributes: Attributes) -> None:
        self.id = list_id
        self._number: int | None = None
        """Of the next item; none where items have none, or where their count is the first's."""
        self._items: list[tuple[Enclosure, int | None]] = []
        self._is_reversed = tag == "ol" and "reversed" in attributes
        self.last: Enclosure | None = None
        if tag == "ol":
            start = _integer(attributes.get("start"))
            self._number = start if start is not None or self._is_reversed else 1

    def item(self, parent: Enclosure | None, attributes: Attributes) -> Enclosure:
        """The next item."""
        is_numbered = self._is_reversed or self._number is not None
        value = _integer(attributes.get("value")) if is_numbered and attributes else None
        number = self._number if value is None else value
        self.last = item = Enclosure(parent, self.id, number)
        if self._is_reversed:
            self._items.append((item, value))
        elif number is not None:
            self._number = number + 1
        return item

    def end(self) -> None:
        """Counts items downwards, where that was asked for: the first is as many as there are."""
        number = len(self._items) if self._number is None else self._number
        for item, value in self._items:
            item.number = number if value is None else value
            number = item.number - 1


class Enclosures:
    """Call `start` and `end` for each `li`, `blockquote` and list, in document order."""

    def __init__(self) -> None:
        self.current: Enclosure | None = None
        """What a block lies in now."""
        self._outer: list[tuple[Enclosure | None, bool]] = []
        """For each that is open what is around it, and whether it is a list."""
        self._lists: list[_OpenList] = []
        self._list_count = 0

    def start(self, tag: str, attributes: Attributes) -> None:
        current = self.current
        is_list = False
        if tag == "li":
            if self._lists and (current is None or current.depth < MAX_DEPTH):
                self.current = self._lists[-1].item(current, attributes)
        elif tag == "blockquote":
            if current is None or current.depth < MAX_DEPTH:
                self.current = Enclosure(current, 0, None)
        else:
            is_list = True
            if self._outer and self._outer[-1][1] and self._lists[-1].last is not None:
                self.current = self._lists[-1].last  # a list between items: browsers indent it
            self._list_count += 1
            self._lists.append(_OpenList(self._list_count, tag, attributes))
        self._outer.append((current, is_list))

    def end(self) -> None:
        self.current, is_list = self._outer.pop()
        if is_list:
            self._lists.pop().end()

    def finish(self) -> None:
        """Ends what is open, where not all of a page was read."""
        while self._lists:
            self._lists.pop().end()


def _integer(text: str | None) -> int | None:
    match = _INTEGER.match(text) if text else None
    if match is None:
        return None
    number = int(match[1])
    return number if -_LARGEST <= number <= _LARGEST else None
