"""What can be asked of nodereader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Natural, option


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReaderOptions:
    """The options of nodereader."""

    url: Annotated[str, option("The page.", metavar="URL", argument=True)]
    links: Annotated[
        Natural, option("Also name up to N of the pages that link there, and that it links to.")
    ] = 0
