"""What can be asked of mirrors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from crawl.operations.options import SnapshotNumber, option
from crawl.phases.mirrors.rules import MirrorBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorsOptions:
    """The options of mirrors."""

    min_contents: Annotated[
        Annotated[int, Meta(ge=2)],
        option("Different contents that both must have under the same paths."),
    ] = 10
    min_agreement: Annotated[
        Annotated[float, Meta(gt=0.5, le=1)],
        option("Share of their common paths that must have the same content.", metavar="SHARE"),
    ] = 0.95
    hosts_file: Annotated[
        str | None, option("Write rules for the urlnormalizer host to a file.", metavar="FILE")
    ] = None
    protocols_file: Annotated[
        str | None,
        option(
            "Write rules for the urlnormalizer protocol to a file, for http and https of a host.",
            metavar="FILE",
        ),
    ] = None
    snapshot: SnapshotNumber = None

    @property
    def bounds(self) -> MirrorBounds:
        """What evidence must be like."""
        return MirrorBounds(self.min_contents, self.min_agreement)

    @property
    def files(self) -> dict[str, str]:
        """By what rules are about, the files that they are written to."""
        files = {"hosts": self.hosts_file, "protocols": self.protocols_file}
        return {kind: path for kind, path in files.items() if path is not None}
