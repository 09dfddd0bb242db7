"""What the batch crawl makes of a site crawl's segments."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.model.status import Status
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.tables.runner import InProcess
from tests.phases.made import records_of
from tests.service.site_crawls.site import crawled_site

pytestmark = pytest.mark.slow(seconds=5)


def test_each_url_of_a_site_crawl_has_one_record(tmp_path: Path) -> None:
    with crawled_site(tmp_path) as site:
        site.page("/", "/a", "/old", "/gone", site.url("/x", "b.test"))
        site.page("/a", "/", "/refresh")
        site.page("/refresh", head='<meta http-equiv="refresh" content="0; url=/new">')
        site.server.page("/old", b"", "Location: /new", code=301)
        site.page("/new", "/a")
        first = site.crawl(formats=("markdown",))
        site.fetch(site.url("/a"), max_age_s=0.0)  # once more: another segment has it too
        assert first.counts.asked == 5  # /new came as the target of a redirect
        crawl_dir, config, url = site.service.crawl_dir, site.config, site.url
    updatedb.run(InProcess(), crawl_dir, config, UpdateDbOptions(), SystemClock())
    records = records_of(crawl_dir)
    statuses = {address: record.status for address, record in records.items()}
    assert statuses == {
        url("/"): Status.DB_FETCHED,
        url("/a"): Status.DB_FETCHED,
        url("/old"): Status.DB_REDIR_PERM,
        url("/refresh"): statuses[url("/refresh")],
        url("/new"): Status.DB_FETCHED,
        url("/gone"): Status.DB_GONE,
        url("/x", "b.test"): Status.DB_UNFETCHED,  # outside of the site, for the batch crawl
    }
    assert statuses[url("/refresh")] in (Status.DB_FETCHED, Status.DB_REDIR_TEMP)
    published = crawl_dir.crawldb.current()
    assert published is not None and len(published.applied) >= 2
