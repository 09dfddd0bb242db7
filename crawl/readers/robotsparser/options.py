"""What can be asked of robotsparser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsparserOptions:
    """The options of robotsparser."""

    robots: Annotated[
        str,
        option(
            "A file, or the URL of a host's robots.txt.",
            metavar="ROBOTS_FILE_OR_URL",
            argument=True,
        ),
    ]
    urls: Annotated[
        tuple[str, ...],
        option(
            "URLs, and files of URLs, one a line.", metavar="[URL_FILE | URL]...", argument=True
        ),
    ] = ()
    agents: Annotated[
        tuple[str, ...],
        option(
            "Names to look for, commas between (default: http.agent.name, http.robots.agents).",
            "--agent",
            metavar="NAMES",
            commas=True,
        ),
    ] = ()
    details: Annotated[
        bool, option("Show the rules, the Crawl-delay and the sitemaps too; so without URLs.")
    ] = False
