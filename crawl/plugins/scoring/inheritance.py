"""What several filters pass on to the targets of links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from crawl.interfaces.scoring import Target
from crawl.model.datum import CrawlDatum


def with_metadata(targets: Sequence[Target], entries: Mapping[str, str]) -> Sequence[Target]:
    """The targets, each record's metadata overlaid."""
    if not entries:
        return targets
    return remade(targets, lambda datum: replace(datum, metadata={**datum.metadata, **entries}))


def remade(
    targets: Sequence[Target], change: Callable[[CrawlDatum], CrawlDatum]
) -> Sequence[Target]:
    """The targets with other records. Those of a page often share one, which is made anew once,
    not for each."""
    made: dict[int, CrawlDatum] = {}
    result: list[Target] = []
    for url, datum in targets:
        record = made.get(id(datum))
        if record is None:
            record = made[id(datum)] = change(datum)
        result.append((url, record))
    return result
