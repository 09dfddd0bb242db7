"""kill -9 in the middle of rounds that overlap: the same command goes on with all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from crawl.model.datum import CrawlDatum
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import Settings, Web, running
from tests.phases.killed import run_killed
from tests.phases.made import records_of
from tests.phases.round_jobs import HoursLater, rounds_by, run_overlapped_rounds
from tests.phases.test_rounds_kill import assert_each_page_once, timeless

pytestmark = pytest.mark.exhaustive


def without_scores(records: dict[str, CrawlDatum]) -> dict[str, CrawlDatum]:
    return {url: replace(datum, score=0.0) for url, datum in timeless(records).items()}


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("writes", [83, 127])
def test_overlapping_rounds_killed_again_and_again(tmp_path: Path, writes: int) -> None:
    """Each life lasts a write longer than the one before (`LIVES` in test_rounds_kill.py)."""
    with running(Web(Settings.plain(3, 24, port=0, size=500))) as server:
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("\n".join(server.web.seeds()))
        settings = server.web.settings
        whole = CrawlDir(str(tmp_path / "whole"))
        rounds_by(HoursLater(0), whole.address, str(seeds), settings)
        expected = without_scores(records_of(whole))
        assert len(expected) == 24
        wreck = CrawlDir(str(tmp_path / "killed"))
        lives = 0
        while run_killed(
            run_overlapped_rounds, lives, wreck.address, str(seeds), settings, at=writes + lives
        ):
            lives += 1
            assert lives < 50, "it does not get on"
        assert lives >= 2
        assert without_scores(records_of(wreck)) == expected
        assert_each_page_once(wreck)
