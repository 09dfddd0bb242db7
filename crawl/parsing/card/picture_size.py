"""Width and height of an image by its first bytes: PNG, GIF, JPEG, WebP and BMP."""

from __future__ import annotations

import struct

_MAX_SEGMENTS = 1_000
_JPEG_FRAMES = frozenset(
    (*range(0xC0, 0xC4), *range(0xC5, 0xC8), *range(0xC9, 0xCC), 0xCD, 0xCE, 0xCF)
)
_JPEG_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))
"""Markers without a length."""


def picture_size(body: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None where the bytes are of no such image."""
    try:
        return _size(body)
    except (struct.error, IndexError):
        return None  # it ends before its size


def _size(body: bytes) -> tuple[int, int] | None:
    size: tuple[int, int] | None = None
    if body.startswith(b"\x89PNG\r\n\x1a\n") and body[12:16] == b"IHDR":
        size = struct.unpack_from(">II", body, 16)
    elif body.startswith((b"GIF87a", b"GIF89a")):
        size = struct.unpack_from("<HH", body, 6)
    elif body.startswith(b"\xff\xd8\xff"):
        size = _jpeg(body)
    elif body.startswith(b"RIFF") and body[8:12] == b"WEBP":
        size = _webp(body)
    elif body.startswith(b"BM") and len(body) >= 26:
        width, height = struct.unpack_from("<ii", body, 18)
        size = width, abs(height)
    return size if size and min(size) > 0 else None


def _jpeg(body: bytes) -> tuple[int, int] | None:
    at = 2
    for _ in range(_MAX_SEGMENTS):
        if body[at] != 0xFF:
            return None
        marker = body[at + 1]
        if marker == 0xFF:  # a filling byte
            at += 1
        elif marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", body, at + 5)
            return width, height
        elif marker in _JPEG_ALONE:
            at += 2
        else:
            at += 2 + int(struct.unpack_from(">H", body, at + 2)[0])
    return None


def _webp(body: bytes) -> tuple[int, int] | None:
    kind = body[12:16]
    if kind == b"VP8 " and body[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", body, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L" and body[20] == 0x2F:
        bits = int(struct.unpack_from("<I", body, 21)[0])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X" and len(body) >= 30:
        return (
            int.from_bytes(body[24:27], "little") + 1,
            int.from_bytes(body[27:30], "little") + 1,
        )
    return None
