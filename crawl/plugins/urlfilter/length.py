"""urlfilter length: no URL beyond a length. Cheap, and so first in the chain."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config, integer
from crawl.interfaces.urlfilter import URLFilter

MAX = integer("urlfilter.length.max", 2048, "Longest URL accepted.", unit="characters", minimum=1)


class LengthURLFilter(URLFilter):
    """Rejects URLs that are too long."""

    def __init__(self, config: Config) -> None:
        self._max = config[MAX]

    def rejection(self, url: str) -> str | None:
        return f"longer than {self._max} characters" if len(url) > self._max else None

    def accepts_batch(self, urls: pa.Array[Any]) -> pa.Array[Any] | None:
        lengths = pc.utf8_length(cast("pa.StringArray", urls))
        return pc.less_equal(lengths, pa.scalar(self._max))
