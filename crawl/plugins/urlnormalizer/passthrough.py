"""urlnormalizer pass: changes nothing, where a scope wants no normalization at all."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config
from crawl.interfaces.urlnormalizer import Scope, URLNormalizer


class PassURLNormalizer(URLNormalizer):
    """Leaves every text as it is."""

    def __init__(self, config: Config) -> None:
        """There is nothing to configure."""

    def normalize(self, url: str, scope: Scope) -> str | None:
        return url

    def leaves_alone(self, urls: pa.Array[Any], scope: Scope) -> pa.Array[Any] | None:
        return pc.is_valid(urls)
