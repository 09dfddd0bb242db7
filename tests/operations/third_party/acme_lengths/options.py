"""What can be asked of lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Positive, SnapshotNumber, option


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthsOptions:
    """The options of lengths."""

    longest: Annotated[Positive, option("List the N longest URLs.", metavar="N")] = 3
    slowly: Annotated[bool, option("Do not end before it is cancelled.")] = False
    snapshot: SnapshotNumber = None
