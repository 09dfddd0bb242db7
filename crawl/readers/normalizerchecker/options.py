"""What can be asked of normalizerchecker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.interfaces.urlnormalizer import Scope
from crawl.operations.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizercheckerOptions:
    """The options of normalizerchecker."""

    urls: Annotated[tuple[str, ...], option("URLs.", metavar="[URL]...", argument=True)] = ()
    normalizers: Annotated[
        tuple[str, ...],
        option(
            "Ask this normalizer instead of those in urlnormalizer.order (repeatable).",
            "--normalizer",
            metavar="PLUGIN",
        ),
    ] = ()
    scope: Annotated[Scope, option("As at this place of the crawl.")] = Scope.DEFAULT
    steps: Annotated[bool, option("Show what each normalizer does.")] = False
