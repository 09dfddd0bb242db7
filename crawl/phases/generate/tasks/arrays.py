"""Columns of numbers as generate's steps hand them to each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
"""Keys of candidates, and the numbers that stand for hosts, domains, chains and sites."""
Mask = npt.NDArray[np.bool_]
Segments = npt.NDArray[np.int16]
Shards = npt.NDArray[np.int32]
"""Numbers of shards, slices, slots and parts."""
