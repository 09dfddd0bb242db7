"""The length of a whole column of URLs, compared with a limit."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc


def are_within(urls: pa.Array[Any], max_bytes: int) -> pa.BooleanArray:
    """True for each URL of at most so many bytes, which are never fewer than its characters."""
    return pc.less_equal(pc.binary_length(cast("pa.StringArray", urls)), pa.scalar(max_bytes))
