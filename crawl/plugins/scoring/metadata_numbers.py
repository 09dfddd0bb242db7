"""Numbers kept as text in metadata; whole ones are read alike by row and by column.

Anybody may have written the metadata (a seed file, another version): what is no plain whole
number of at most 15 digits counts as missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.metadata import lookup

_NUMBER = r"\A[0-9]{1,15}\z"
_PLAIN = re.compile("[0-9]{1,15}")


def whole_number(metadata: Mapping[str, str], key: str) -> int | None:
    """The number under the key; None where there is none."""
    text = metadata.get(key)
    return int(text) if text is not None and _PLAIN.fullmatch(text) else None


def finite_number(metadata: Mapping[str, str], key: str, missing: float) -> float:
    """The number under the key, with any sign and fraction; `missing` where there is none that is
    finite."""
    try:
        number = float(metadata[key])
    except (KeyError, ValueError):
        return missing
    return number if math.isfinite(number) else missing


def whole_numbers(datums: pa.Table, key: str, missing: int) -> npt.NDArray[np.int64]:
    """The number under the key in each row; `missing` where there is none."""
    texts = pa.concat_arrays(
        [lookup(chunk, key) for chunk in datums["metadata"].chunks] or [pa.array([], pa.string())]
    )
    if texts.null_count == len(texts):
        return np.full(len(texts), missing, dtype=np.int64)
    plain = pc.match_substring_regex(texts, _NUMBER)
    numbers = pc.if_else(plain, texts, None).cast(pa.int64())
    column: npt.NDArray[np.int64] = pc.fill_null(numbers, missing).to_numpy(zero_copy_only=False)
    return column
