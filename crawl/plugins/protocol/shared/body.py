"""The body of a response as it arrives: decoded at once, and cut at the limit before and
after decoding.

Whether it is whole, for every protocol (RFC 9112, section 8 and 9.8):

how its end is marked   what happened                            what it is
a length, or chunks     all of them came                         whole
                        the connection ended before, in any way  broke off
the connection's end    closed in good order                     whole
                        reset, or TLS closed without saying so   broke off
its content encoding    the end that the encoding marks is       broke off
                        missing when the bytes end
whichever of them       a limit of ours came first (`length`,    truncated, and
                        `time`)                                  marked as such

A page (any 2xx) that broke off is no page but a failure, `disconnected`: its host backs off
as after any other, and the page is fetched again. Of other responses only the head
matters: they count as they are, marked as `disconnect` where the body broke off or could
not be read (chunks or an encoding that are none), and as `time` where it came too slowly.
A redirect is followed, whatever its body.
"""

from __future__ import annotations

from collections.abc import Sequence

from crawl.interfaces.protocol import FailureKind, Truncation
from crawl.plugins.protocol.shared.content_encoding import BadEncoding, Decoder, decoders

_PIECE = 64 * 1024
"""Bytes decoded at a time: what a decompression bomb may cost beyond the limit."""
_MAX_PIECES = 1000
"""When there are more pieces they are joined: a piece of two bytes takes fifty."""


_TRUNCATION_BY_FAULT = {
    FailureKind.BAD_ENCODING: Truncation.DISCONNECT,
    FailureKind.DISCONNECTED: Truncation.DISCONNECT,
    FailureKind.MALFORMED_RESPONSE: Truncation.DISCONNECT,
    FailureKind.LOW_SPEED: Truncation.TIME,
}
"""How a response is marked whose body failed after its head had come; no other fault is one of
the body."""


class Body:
    """Collects the body of a response from the wire; it never holds more than `limit` bytes."""

    wire_bytes = 0
    truncated = Truncation.WHOLE
    fault = ""
    """Why the bytes cannot be decoded; empty where they can."""
    _decoders: Sequence[Decoder] = ()
    _size = 0
    """Decoded bytes so far."""
    _blocks: list[bytes] | None = None
    """Joined pieces, which come before `_pieces`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []

    def begin(self, content_encoding: str) -> bool:
        """Sets the Content-Encoding before the first byte; False where it cannot be decoded."""
        if content_encoding:
            try:
                self._decoders = decoders(content_encoding)
            except BadEncoding as error:
                self.fault = str(error)
                return False
            self._decoded_bytes = [0] * len(self._decoders)
            """Bytes that each decoder has produced: what passes between two has the limit, too."""
        return True

    def write(self, data: bytes) -> bool:
        """Adds bytes from the wire; False where no more are wanted, for a limit or a fault."""
        self.wire_bytes += len(data)
        over = self.wire_bytes - self._limit
        if over > 0:
            data = data[:-over]
        if not self._decoders:
            self._add(data)
            goes_on = True
        else:
            try:
                goes_on = self._decode(data, 0)
            except BadEncoding as error:
                self.fault = str(error)
                return False
        if over > 0:
            self.truncated = Truncation.LENGTH
            return False
        return goes_on

    def end(self) -> None:
        """Notes that the server has ended the body."""
        if self._decoders and self.wire_bytes and not self.truncated:
            unfinished = any(not each.finished for each in self._decoders)
            self.truncated = Truncation.DISCONNECT if unfinished else Truncation.WHOLE

    def judged(
        self, code: int, fault: FailureKind | None, message: str
    ) -> tuple[FailureKind | None, str]:
        """What is wrong with a response of that code for which `fault`, or nothing, was found. A
        page whose body failed is a failure; of others only the head matters."""
        if fault is not None and code >= 300 and fault in _TRUNCATION_BY_FAULT:
            self.truncated = _TRUNCATION_BY_FAULT[fault]
            return None, message
        if fault is None and self.truncated is Truncation.DISCONNECT and 200 <= code < 300:
            return FailureKind.DISCONNECTED, f"the body broke off after {self.wire_bytes} bytes"
        return fault, message

    def content(self) -> bytes:
        if self._blocks is not None:
            return b"".join([*self._blocks, *self._pieces])
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    def _add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        if len(self._pieces) > _MAX_PIECES:
            self._blocks = self._blocks or []
            self._blocks.append(b"".join(self._pieces))
            self._pieces.clear()

    def _decode(self, data: bytes, stage: int) -> bool:
        if stage == len(self._decoders):
            return self._keep(data)
        decoder = self._decoders[stage]
        while True:
            piece = decoder.decode(data, _PIECE)
            if piece:
                self._decoded_bytes[stage] += len(piece)
                inner = stage + 1 < len(self._decoders)
                if inner and self._decoded_bytes[stage] > self._limit:
                    self.truncated = Truncation.LENGTH
                    return False
                if not self._decode(piece, stage + 1):
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
