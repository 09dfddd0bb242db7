"""urlnormalizer querystring: one order for the parameters of a query."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config
from crawl.interfaces.urlnormalizer import Scope, URLNormalizer
from crawl.urls.columns import column_bytes


class QuerystringURLNormalizer(URLNormalizer):
    """Sorts parameters by name. Those of one name keep their order, because servers read
    something into it."""

    def __init__(self, config: Config) -> None:
        """There is nothing to configure."""

    def normalize(self, url: str, scope: Scope) -> str | None:
        rest, hash_sign, fragment = url.partition("#")
        beginning, question_mark, query = rest.partition("?")
        if "&" not in query:
            return url
        parameters = [parameter for parameter in query.split("&") if parameter]
        parameters.sort(key=lambda parameter: parameter.partition("=")[0])
        return beginning + question_mark + "&".join(parameters) + hash_sign + fragment

    def leaves_alone(self, urls: pa.Array[Any], scope: Scope) -> pa.Array[Any] | None:
        if not column_bytes(urls).contains("&"):
            return pc.is_valid(urls)
        return pc.invert(pc.match_substring(urls, "&"))
