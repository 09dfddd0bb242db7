"""The LinkDb of a crawl of the synthetic web is that web's links, turned around."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.model.status import Status
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.invertlinks import run as invertlinks
from crawl.phases.invertlinks.options import InvertLinksOptions
from crawl.synthetic.web import Settings, Web, running
from crawl.tables.runner import InProcess
from crawl.urls.parse import host_of
from tests.phases.linking import inlinks_of
from tests.phases.webs import fetched, listed, web_config


@pytest.mark.slow
def test_the_linkdb_is_the_inverted_truth(tmp_path: Path) -> None:
    web = Web(Settings(sites=4, pages=40, port=0, size=2000, crawl_delay=0, retry_after=0))
    with running(web) as server:
        config = web_config(server.web, fetcher__parse=True, db__max__outlinks__per__page=-1)
        directory, name = listed(str(tmp_path / "c"), sorted(set(server.web.urls())))
        fetch.run(InProcess(2), directory, config, FetchOptions(name), SystemClock())
        options = InvertLinksOptions()
        done = invertlinks.run(InProcess(), directory, config, options, SystemClock())
        records = fetched(directory, name)
        pages = [url for url, each in records if each.status is Status.FETCH_SUCCESS]
        truth = {
            (link, url)
            for url in pages
            for link in server.web.expected(url).links
            if host_of(link) != host_of(url)
        }
    found = inlinks_of(directory)
    assert set(found) == truth and len(truth) > 10
    assert {score for _, score, _ in found.values()} == {1.0}
    assert done.report.counters["links_kept"] == len(truth)
