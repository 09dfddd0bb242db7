"""Path and query cut out of a URL's text without parsing it, one by one or by column.

For URLs in normal form this is what the standard calls path and query; on other texts it
is at least the same cut in both forms.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_CUT = r"^[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*(?P<path>[^?#]*)(?P<query>(?:\?[^#]*)?)"
_ROW = re.compile(_CUT)


def path_and_query(url: str) -> tuple[str, str] | None:
    """The path, and the query with its `?` (or nothing); None without `scheme://`."""
    match = _ROW.match(url)
    return (match["path"], match["query"]) if match else None


def paths_and_queries(urls: pa.Array[Any]) -> tuple[pa.Array[Any], pa.Array[Any]]:
    """`path_and_query` of a column; null where the row form has None."""
    parts = pc.extract_regex(urls, _CUT)
    return pc.struct_field(parts, "path"), pc.struct_field(parts, "query")
