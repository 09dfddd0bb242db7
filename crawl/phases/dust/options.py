"""What can be asked of dust."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from crawl.operations.options import Face, SnapshotNumber, option
from crawl.phases.dust.rules import DustBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class DustOptions:
    """The options of dust."""

    hosts: Annotated[tuple[str, ...], option("Only this host (repeatable).", "--host")] = ()
    min_support: Annotated[
        Annotated[int, Meta(ge=2)],
        option("Different contents that must have stayed the same.", metavar="N"),
    ] = 10
    min_values: Annotated[
        Annotated[int, Meta(ge=2)],
        option(
            "Values of a parameter, its absence included, that must have been seen.", metavar="N"
        ),
    ] = 3
    max_exceptions: Annotated[
        Annotated[float, Meta(ge=0, lt=0.5)],
        option("Share of the URLs whose content may be another.", metavar="SHARE"),
    ] = 0.01
    apply: Annotated[
        str | None,
        option(
            "Write the rules to a file for the urlnormalizer dust; those of an earlier --apply stay"
            " in it unless exceptions have turned up.",
            metavar="FILE",
        ),
    ] = None
    doubtful: Annotated[
        bool, option("Also list what has support, but not enough.", faces=Face.COMMAND_LINE)
    ] = False
    snapshot: SnapshotNumber = None

    @property
    def bounds(self) -> DustBounds:
        """What evidence must be like."""
        return DustBounds(self.min_support, self.max_exceptions, self.min_values)
