"""How many different signatures there are, of which the smallest few numbers tell.

A signature is a number that is as good as random. Where a host's signatures are counted in
several places, each tells the `MAX_NUMBERS` smallest; where they meet, the same is kept of all. If
there are fewer, they are counted; else the density of those that are kept tells how many there must
be (k minimum values, to within 3%).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.uint64]

MAX_NUMBERS = 1024


def numbers_of(signatures: pa.Array[Any]) -> Numbers:
    """A number for each signature, none of which is null: equal for equal ones."""
    numbers = np.zeros(len(signatures), dtype=np.uint64)
    if len(signatures) == 0:
        return numbers
    _, offset_buffer, data_buffer = signatures.buffers()
    offsets = np.frombuffer(memoryview(offset_buffer), np.int32)  # type: ignore[arg-type]
    offsets = offsets[signatures.offset : signatures.offset + len(signatures) + 1].astype(np.int64)
    data = (
        np.zeros(0, np.uint8)
        if data_buffer is None
        else np.frombuffer(memoryview(data_buffer), np.uint8)
    )
    lengths = np.diff(offsets)
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        numbers[rows] = _mixed(np.full(len(rows), length, dtype=np.uint64))
        padded = -(-length // 8) * 8
        octets = np.zeros((len(rows), padded), dtype=np.uint8)
        octets[:, :length] = data[offsets[rows, None] + np.arange(length)]
        for word in octets.view(np.uint64).T:
            numbers[rows] = _mixed(numbers[rows] ^ word)
    return numbers


def _mixed(numbers: Numbers) -> Numbers:
    """SplitMix64's finalizer."""
    with np.errstate(over="ignore"):
        mixed = (numbers + np.uint64(0x9E37_79B9_7F4A_7C15)).astype(np.uint64)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
        return mixed ^ (mixed >> np.uint64(31))


def distinct(
    owners: npt.NDArray[np.int64], numbers: Numbers
) -> tuple[npt.NDArray[np.int64], Numbers]:
    """Each owner's different numbers once, by owner and number."""
    order = np.lexsort((numbers, owners))
    owners, numbers = owners[order], numbers[order]
    is_first = np.append(True, (owners[1:] != owners[:-1]) | (numbers[1:] != numbers[:-1]))
    is_first = is_first[: len(owners)]
    return owners[is_first], numbers[is_first]


def smallest(
    owners: npt.NDArray[np.int64], numbers: Numbers
) -> tuple[npt.NDArray[np.int64], Numbers]:
    """The `MAX_NUMBERS` smallest of each owner's numbers, which are distinct and in order."""
    starts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1])[: len(owners)])
    place = np.arange(len(owners)) - np.repeat(starts, np.diff(np.append(starts, len(owners))))
    is_kept = place < MAX_NUMBERS
    return owners[is_kept], numbers[is_kept]


def estimates(owners: npt.NDArray[np.int64], numbers: Numbers, count: int) -> npt.NDArray[np.int64]:
    """How many different numbers each of `count` owners has, by the smallest of them."""
    counts = np.bincount(owners, minlength=count).astype(np.int64)
    is_full = np.flatnonzero(counts >= MAX_NUMBERS)
    if len(is_full):
        ends = np.cumsum(counts)[is_full] - 1
        share = numbers[ends].astype(np.float64) / 2.0**64
        counts[is_full] = np.round((MAX_NUMBERS - 1) / share).astype(np.int64)
    return counts
