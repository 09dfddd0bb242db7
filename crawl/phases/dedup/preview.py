"""What a dedup would mark, shown before it does: near duplicates beside the page that they would
stand back behind, with what differs between the two."""

from __future__ import annotations

from functools import partial

import numpy as np

from crawl.phases.dedup.clusters import ClusterSteps
from crawl.phases.dedup.tasks.records import slices_and_rows
from crawl.phases.dedup.tasks.shown_pages import find_said, find_urls
from crawl.phases.dedup.text_difference import difference_of
from crawl.phases.dedup.values import PagePair
from crawl.storage.segments import PARSE_DATA, PARSE_TEXT

_STEP = "dedup: preview"


def shown_pairs(steps: ClusterSteps) -> tuple[PagePair, ...]:
    """The most doubtful pairs with their titles and what differs between their texts."""
    pairs = steps.doubtful.pairs()
    if not pairs:
        return ()
    ids = np.unique([number for pair in pairs for number in (pair.survivor, pair.other)])
    slices, rows = slices_and_rows(ids)
    tasks = [
        (base, rows[slices == base.number].astype(np.int64))
        for base in steps.slices.stored()
        if (slices == base.number).any()
    ]
    urls_by_slice = steps.runner.run(partial(find_urls, steps.job), tasks, _STEP)
    urls = {number: url for some in urls_by_slice for number, url in some.items()}
    files = [*steps.files_of(PARSE_TEXT), *steps.files_of(PARSE_DATA)]
    answers = steps.runner.run(partial(find_said, tuple(sorted(set(urls.values())))), files, _STEP)
    latest: dict[str, dict[str, str]] = {PARSE_TEXT: {}, PARSE_DATA: {}}
    for file, by_url in sorted(zip(files, answers, strict=True), key=lambda each: each[0].segment):
        latest[file.part].update(by_url)
    texts, titles = latest.values()
    return tuple(
        PagePair(
            round(pair.similarity, 4),
            (one := urls[pair.survivor]),
            (other := urls[pair.other]),
            titles.get(one, ""),
            titles.get(other, ""),
            difference_of(texts.get(one, ""), texts.get(other, "")),
        )
        for pair in pairs
    )
