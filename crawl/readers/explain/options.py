"""What can be asked of explain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Natural, option


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """The options of explain."""

    url: Annotated[str, option("The URL.", metavar="URL", argument=True)]
    robots: Annotated[bool, option("Ask the host's robots.txt anew, politely.")] = False
    inlinks: Annotated[Natural, option("List at most this many pages that link to it.")] = 5
