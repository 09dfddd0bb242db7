"""What can be asked of status: the state of the segments, or one of three lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Face, option


@dataclass(frozen=True, slots=True, kw_only=True)
class HostsOptions:
    """The options of the hosts in backoff."""

    hosts: Annotated[
        bool, option("List all hosts in backoff.", selects=True, faces=Face.COMMAND_LINE)
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasesOptions:
    """The options of what phases cost."""

    phases: Annotated[
        bool,
        option(
            "List what the phases of the last round cost.", selects=True, faces=Face.COMMAND_LINE
        ),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BehindOptions:
    """The options of the tables that are behind."""

    behind: Annotated[
        bool,
        option(
            "List the derived tables that are behind what they are made from.",
            selects=True,
            faces=Face.COMMAND_LINE,
        ),
    ] = False
