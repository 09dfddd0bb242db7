"""The URLs with the highest scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crawl.model.arrow import strings
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import each_group, open_table


@dataclass(frozen=True, slots=True)
class ScoredUrl:
    score: float
    url: str


def top_of_bucket(crawldb: Folder, most: int, least: float, file: BucketFile) -> list[ScoredUrl]:
    """The bucket's `most` best URLs with a score of at least `least`, best first."""
    best_urls: list[ScoredUrl] = []
    with open_table(crawldb, file.path, size=file.bytes) as source:
        for rows in each_group(source, ["url", "score"]):
            score = rows["score"].to_numpy()
            best = np.flatnonzero(score >= least)
            if len(best) > most:
                best = best[np.argpartition(-score[best], most - 1)[:most]]
            urls = strings(rows["url"].take(best))
            best_urls += [
                ScoredUrl(float(score[row]), url) for row, url in zip(best, urls, strict=True)
            ]
            best_urls = best_of(best_urls, most)
    return best_urls


def best_of(urls: list[ScoredUrl], most: int) -> list[ScoredUrl]:
    """The best of these, best first; equal scores in order of URL."""
    return sorted(urls, key=lambda entry: (-entry.score, entry.url))[:most]
