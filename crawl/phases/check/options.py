"""What can be asked of check: to look, or to repair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Face, StealLock, option

Deep = Annotated[bool, option("Read every page of every file, and look at its rows.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """The options of a check."""

    deep: Deep = False
    steal_lock: Annotated[
        bool, option("Take the lock even if its owner seems to be alive.", faces=Face.COMMAND_LINE)
    ] = False
    """Of a repair; the command takes it without one, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairOptions:
    """The options of a repair."""

    deep: Deep = False
    repair: Annotated[
        bool,
        option(
            "Restore the newest intact state; damaged files go to CRAWL_DIR/quarantine.",
            selects=True,
            faces=Face.COMMAND_LINE,
        ),
    ] = False
    steal_lock: StealLock = False
