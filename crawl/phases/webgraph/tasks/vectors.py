"""A vector over all nodes that lies in files: whoever needs it whole maps it into memory."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawl.errors import StorageError
from crawl.graph.kernels.page_rank import Floats
from crawl.storage.folder import Folder, attempt_name

Bytes = npt.NDArray[np.uint8]
"""A row of bytes for every node."""

_MAX_IN_MEMORY = 256 << 20
"""Bytes of a vector that a process has in memory; a longer one is a file that is mapped."""


@dataclass(frozen=True, slots=True)
class VectorPiece:
    """The values of the nodes `first` to `end`."""

    path: str
    first: int
    end: int


def write_piece(folder: Folder, stem: str, first: int, values: Floats | Bytes) -> VectorPiece:
    """Writes the values of some nodes, or their rows of bytes, under a name that no other attempt
    shares."""
    kind, suffix = ("u1", "u8") if values.dtype == np.uint8 else ("<f8", "f64")
    path = f"{attempt_name(stem).removesuffix('.parquet')}.{suffix}"
    data = np.ascontiguousarray(values, kind)
    with folder.open_write(path, lasting=False) as stream:
        stream.write(data.data if data.size else b"")
    return VectorPiece(path, first, first + len(values))


def read_piece(folder: Folder, piece: VectorPiece) -> Floats:
    """The values of some nodes."""
    return np.frombuffer(_read(folder, piece, 8), "<f8")


def _read(folder: Folder, piece: VectorPiece, width: int) -> bytes:
    data = folder.read(piece.path)
    if data is None or len(data) != width * (piece.end - piece.first):
        raise StorageError(f"{folder.path(piece.path)} is missing or cut")
    return data


def whole_vector(folder: Folder, pieces: tuple[VectorPiece, ...], length: int) -> Floats:
    """The vector that the pieces make. Tasks of one process that need the same share it."""
    return whole_rows(folder, pieces, length, 8).view(np.float64)[:, 0]


def whole_rows(folder: Folder, pieces: tuple[VectorPiece, ...], length: int, width: int) -> Bytes:
    """The rows that the pieces make, of so many bytes each; shared as a vector is."""
    with _reading:
        key = (folder.address, pieces)
        if key not in _last:
            _last.clear()  # of the iteration before
            rows = _empty(length, width)
            for piece in pieces:
                data = np.frombuffer(_read(folder, piece, width), np.uint8)
                rows[piece.first : piece.end] = data.reshape(-1, width)
            _last[key] = rows
        return _last[key]


def _empty(length: int, width: int) -> Bytes:
    if width * length <= _MAX_IN_MEMORY:
        return np.empty((length, width), np.uint8)
    # gone with the process: no name leads to it
    with tempfile.TemporaryFile() as file:
        file.truncate(width * length)
        return np.memmap(file, np.uint8, "r+", shape=(length, width))


_reading = threading.Lock()
_last: dict[tuple[str, tuple[VectorPiece, ...]], Bytes] = {}
