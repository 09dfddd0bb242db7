"""A body as it arrives: unpacked at once, and cut at the limit on either side.

Whether it is whole, for every protocol (RFC 9112, section 8 and 9.8):

how its end is told     what happened                            what it is
a length, or chunks     all of them came                         whole
                        the connection ended before, in any way  broke off
the connection's end    closed in good order                     whole
                        reset, or TLS closed without saying so   broke off
its content encoding    the end that the encoding marks is       broke off
                        missing when the bytes end
whichever of them       a limit of ours came first (`length`,    truncated, and
                        `time`)                                  marked as such

A page (any 2xx) that broke off is no page but a failure, `disconnected`: its host backs off
as after any other, and the page is asked for again. Of all other answers the head tells
what matters: they count as they are, marked as `disconnect` where the body broke off.
"""

from __future__ import annotations

from collections.abc import Sequence

from crawl.interfaces.protocol import Truncation
from crawl.plugins.protocol.shared.content_encoding import BadEncoding, Decoder, decoders

_PIECE = 64 * 1024
"""Bytes unpacked at a time: what a bomb may cost beyond the limit."""
_MOST_PIECES = 1000
"""Then they are joined: a piece of two bytes takes fifty."""


def is_incomplete_page(code: int, truncated: Truncation) -> bool:
    """Whether an answer is a failure because its body broke off."""
    return truncated is Truncation.DISCONNECT and 200 <= code < 300


class Body:
    """Takes bytes from the wire. Whatever comes, it holds `limit` bytes at most."""

    wire = 0
    truncated = Truncation.WHOLE
    fault = ""
    """Why the bytes cannot be unpacked; empty where they can."""
    _decoders: Sequence[Decoder] = ()
    _size = 0
    """Of what was unpacked."""
    _blocks: list[bytes] | None = None
    """Pieces that were joined; they come before the others."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []

    def begin(self, content_encoding: str) -> bool:
        """To be told before the first byte; False where it can only fail."""
        if content_encoding:
            try:
                self._decoders = decoders(content_encoding)
            except BadEncoding as error:
                self.fault = str(error)
                return False
            self._passed = [0] * len(self._decoders)
            """Bytes that came out of each decoder but the last; these have the limit too."""
        return True

    def write(self, data: bytes) -> bool:
        """Takes bytes; False where no more are wanted, for a limit or a fault."""
        self.wire += len(data)
        over = self.wire - self._limit
        if over > 0:
            data = data[:-over]
        if not self._decoders:
            self._add(data)
            wanted = True
        else:
            try:
                wanted = self._through(data, 0)
            except BadEncoding as error:
                self.fault = str(error)
                return False
        if over > 0:
            self.truncated = Truncation.LENGTH
            return False
        return wanted

    def end(self) -> None:
        """The wire has come to its end, as the server sees it."""
        if self._decoders and self.wire and not self.truncated:
            unfinished = any(not each.finished for each in self._decoders)
            self.truncated = Truncation.DISCONNECT if unfinished else Truncation.WHOLE

    @property
    def broke_off(self) -> str:
        """What to tell people of a body that did."""
        return f"the body broke off after {self.wire} bytes"

    def content(self) -> bytes:
        if self._blocks is not None:
            return b"".join([*self._blocks, *self._pieces])
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    def _add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        if len(self._pieces) > _MOST_PIECES:
            self._blocks = self._blocks or []
            self._blocks.append(b"".join(self._pieces))
            self._pieces.clear()

    def _through(self, data: bytes, stage: int) -> bool:
        if stage == len(self._decoders):
            return self._keep(data)
        decoder = self._decoders[stage]
        while True:
            piece = decoder.unpack(data, _PIECE)
            if piece:
                self._passed[stage] += len(piece)
                inner = stage + 1 < len(self._decoders)
                if inner and self._passed[stage] > self._limit:
                    self.truncated = Truncation.LENGTH
                    return False
                if not self._through(piece, stage + 1):
                    return False
            if not decoder.more:
                return True
            data = b""

    def _keep(self, piece: bytes) -> bool:
        room = self._limit - self._size
        if len(piece) > room:
            piece = piece[:room]
            self.truncated = Truncation.LENGTH
        self._add(piece)
        self._size += len(piece)
        return not self.truncated
