"""Edges of a graph as arrays, bucket by bucket."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class EdgeBlock(NamedTuple):
    """Edges into nodes of one bucket: parallel arrays of node numbers."""

    sources: npt.NDArray[np.int64]
    destinations: npt.NDArray[np.int64]
