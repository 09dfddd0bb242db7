"""kill -9 at the writes of dedup: at every one, or every fourth of those of near duplicates."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from crawl.model.status import Status
from crawl.storage.crawl_dir import CrawlDir
from tests.phases.dedup.edited_pages import words_of
from tests.phases.dedup.test_dedup import expected, page
from tests.phases.dedup.test_dedup_near import add_texts
from tests.phases.kill_jobs import mark_duplicates
from tests.phases.killed import run_killed
from tests.phases.made import make_crawldb, records_of
from tests.phases.test_kill import assert_clean

pytestmark = [pytest.mark.slow(seconds=15), pytest.mark.exhaustive]

PAGES = {f"http://h{n % 5}.org/p{n}": page(bytes([n % 9]) * 16, score=n) for n in range(30)}


@pytest.mark.parametrize("near", [None, "jaccard"])
def test_killed_at_its_writes(tmp_path: Path, near: str | None) -> None:
    base = make_crawldb(str(tmp_path / "base"), PAGES, buckets=2)
    if near:
        chance = random.Random(1)
        texts = [" ".join(words_of(chance, 60)) for _ in range(9)]
        # the first two signatures have the same text
        add_texts(base, {url: texts[max(1, n % 9)] for n, url in enumerate(PAGES)})
        whole = tmp_path / "whole"
        shutil.copytree(base.address, whole)
        mark_duplicates(str(whole), near)
        wanted = records_of(CrawlDir(str(whole)))
        assert sum(each.status is Status.DB_DUPLICATE for each in wanted.values()) == 22
    else:
        wanted = expected(PAGES)
    at = 1
    while True:
        wreck = CrawlDir(str(tmp_path / f"killed-{at}"))
        shutil.copytree(base.address, wreck.address)
        killed = run_killed(mark_duplicates, wreck.address, near, at=at)
        assert records_of(wreck) in (PAGES, wanted)
        mark_duplicates(wreck.address, near)
        assert records_of(wreck) == wanted
        assert_clean(wreck)
        shutil.rmtree(wreck.address)
        if not killed:
            break
        at += 4 if near else 1
    assert at > 12
