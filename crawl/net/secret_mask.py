"""Takes the secrets that a server was sent out of what the server says.

A server that refuses us may repeat what it was sent: the header itself, or the password in it,
percent-encoded in a URL, escaped in JSON or HTML, in base64, in hexadecimal, in capitals. So the
text is looked at as it is and with every kind of escape undone, up to three on top of each other;
where a secret is found, what stands for it in the text becomes `***`.
"""

from __future__ import annotations

import base64
import html
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from crawl.masking import MARK, masked_text

_MAX_TEXT = 16 * 1024
"""Characters of a text that are looked at; what follows is left out."""
_DEPTH = 3
"""Escapes on top of each other that are undone."""
_SHORT = 4
"""A secret of fewer characters is masked where it stands alone: it is a part of many words."""
_MIN_CODE = 6
"""Characters by which base64 or hexadecimal of a secret is known."""
_LONGEST_ESCAPE = 18
"""Characters that may stand for one of a secret: an escape of an escape of an escape."""

_Spans = list[tuple[int, int]]


class SecretMask:
    """Knows secrets by their values."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms = _forms(tuple(sorted(set(filter(None, secrets)))))
        self._margin = max((len(form.text) for form in self._forms), default=0) * _LONGEST_ESCAPE

    def masked(self, text: str) -> str:
        """The text, or as much of it as is worth telling, without the secrets and without what
        looks like one."""
        if not self._forms:
            return masked_text(text)
        end = len(text)
        if end > _MAX_TEXT:
            # what the cut leaves of a secret would not be known as one
            text = text[: _MAX_TEXT + self._margin]
            end = _MAX_TEXT
        pieces: list[str] = []
        at = 0
        for first, last in _joined(self._secret_spans(text)):
            if first >= end:
                break
            pieces += (text[at:first], MARK)
            at = last
        return masked_text("".join([*pieces, text[at : max(at, end)]]))

    def _secret_spans(self, text: str) -> Iterator[tuple[int, int]]:
        for layer in _layers(_Layer(text, None), _DEPTH):
            lowered = _lowered(layer.text)
            for form in self._forms:
                for place in form.places(lowered):
                    first, last = layer.place(*place)
                    yield _run_around(text, first, last) if form.is_code else (first, last)


@dataclass(frozen=True, slots=True)
class _Form:
    """A text that tells a secret."""

    text: str
    """In small letters: an echo may be in capitals, or in small ones."""
    is_code: bool = False
    """Whether it is a piece of base64 or hexadecimal, all of which is masked."""

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        first = text.find(self.text)
        while first >= 0:
            last = first + len(self.text)
            if len(self.text) >= _SHORT or _stands_alone(text, first, last):
                yield first, last
            first = text.find(self.text, first + 1 if len(self.text) < _SHORT else last)
        yield from self._cut_off(text)

    def _cut_off(self, text: str) -> Iterator[tuple[int, int]]:
        """A server, too, cuts what it repeats: the beginning of a secret at the very end."""
        end = len(text.rstrip(".… "))
        for length in range(min(len(self.text) - 1, end), _SHORT - 1, -1):
            if text.endswith(self.text[:length], 0, end):
                yield end - length, end
                return


@dataclass(frozen=True, slots=True)
class _Layer:
    """A text with escapes undone, and where each of its characters comes from."""

    text: str
    spans: _Spans | None
    """None: the text is the one that we were given."""

    def place(self, first: int, last: int) -> tuple[int, int]:
        """The place in the text that we were given."""
        if self.spans is None:
            return first, last
        return self.spans[first][0], self.spans[last - 1][1]


def _layers(layer: _Layer, depth: int) -> Iterator[_Layer]:
    yield layer
    if not depth:
        return
    for pattern, undo in _ESCAPES:
        if pattern.search(layer.text):
            yield from _layers(_undone(layer, pattern, undo), depth - 1)


def _undone(
    layer: _Layer, pattern: re.Pattern[str], undo: Callable[[re.Match[str]], str]
) -> _Layer:
    pieces: list[str] = []
    spans: _Spans = []
    at = 0

    def keep(first: int, last: int) -> None:
        pieces.append(layer.text[first:last])
        if layer.spans is None:
            spans.extend((place, place + 1) for place in range(first, last))
        else:
            spans.extend(layer.spans[first:last])

    for match in pattern.finditer(layer.text):
        keep(at, match.start())
        at = match.end()
        plain = undo(match)
        pieces.append(plain)
        spans.extend([layer.place(*match.span())] * len(plain))
    keep(at, len(layer.text))
    return _Layer("".join(pieces), spans)


def _character(number: int) -> str:
    return chr(number) if number <= 0x10FFFF else ""


_ESCAPES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    # bytes become characters one by one: `_forms` has non-ASCII secrets so, too
    (re.compile(r"%([0-9A-Fa-f]{2})"), lambda match: chr(int(match[1], 16))),
    (re.compile(r"&#(\d{1,7});?"), lambda match: _character(int(match[1]))),
    (re.compile(r"&#[xX]([0-9A-Fa-f]{1,6});?"), lambda match: _character(int(match[1], 16))),
    (re.compile(r"&[A-Za-z]{2,8};"), lambda match: html.unescape(match[0])),
    (
        re.compile(
            r"\\u([0-9A-Fa-f]{4})|\\[ux]\{([0-9A-Fa-f]{1,6})\}|\\x([0-9A-Fa-f]{2})"
            r"|\\U([0-9A-Fa-f]{8})|\\(.)"
        ),
        lambda match: _unescaped(match),
    ),
    # long base64 is broken into lines
    (re.compile(r"[\r\n]\s*"), lambda match: ""),
)


def _unescaped(match: re.Match[str]) -> str:
    number = match[1] or match[2] or match[3] or match[4]
    if number:
        return _character(int(number, 16))
    return _LETTERS.get(match[5], str(match[5]))


_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


@lru_cache(256)
def _forms(secrets: tuple[str, ...]) -> tuple[_Form, ...]:
    forms: dict[_Form, None] = {}
    for secret in secrets:
        raw = secret.encode("utf-8", "surrogatepass")
        units = secret.encode("utf-16-be", "surrogatepass")
        texts = {
            secret,
            secret.lower(),
            secret.upper(),
            raw.decode("latin-1"),
            # in an alphabet that one of the two does not know
            raw.decode("ascii", "replace"),
            re.sub(r"[^\x00-\x7f]", "\ufffd", secret),
            secret.encode("ascii", "replace").decode(),
            "".join(map(chr, struct.unpack(f">{len(units) // 2}H", units))),
        }
        texts |= {text.replace(" ", "+") for text in texts}
        for text in texts:
            if _means_something(text):
                forms[_Form(_lowered(text))] = None
        for code in _codes(secret):
            if len(code) >= _MIN_CODE:
                forms[_Form(code.lower(), is_code=True)] = None
    return tuple(forms)


def _means_something(text: str) -> bool:
    """Whether there is more in it than what stands for unreadable characters."""
    return bool(text.strip("?\ufffd "))


def _codes(secret: str) -> Iterator[str]:
    raws = {secret.encode("utf-8", "surrogatepass"), secret.encode("latin-1", "ignore")}
    for raw in raws:
        yield raw.hex()
        for shift in range(3):
            # of a longer text in base64: the characters that no neighbour has a part in
            bits = 8 * shift
            first, last = -(-bits // 6), (bits + 8 * len(raw)) // 6
            code = base64.b64encode(bytes(shift) + raw + bytes(2))[first:last].decode()
            yield code
            yield code.replace("+", "-").replace("/", "_")


def _lowered(text: str) -> str:
    """The text in small letters, as long as it was."""
    if text.isascii():
        return text.lower()
    folded = ((each, each.casefold()) for each in text)
    return "".join(small if len(small) == 1 else each for each, small in folded)


def _stands_alone(text: str, first: int, last: int) -> bool:
    before, after = text[max(first - 1, 0) : first], text[last : last + 1]
    return not (before.isalnum() or after.isalnum())


_CODE_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_")


def _run_around(text: str, first: int, last: int) -> tuple[int, int]:
    """The whole code of which a piece was found."""
    while first > 0 and text[first - 1] in _CODE_CHARACTERS:
        first -= 1
    while last < len(text) and text[last] in _CODE_CHARACTERS:
        last += 1
    return first, last


def _joined(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spans in order, those that touch as one."""
    first = last = -1
    for begin, end in sorted(spans):
        if begin <= last:
            last = max(last, end)
            continue
        if last >= 0:
            yield first, last
        first, last = begin, end
    if last >= 0:
        yield first, last
