"""Rules before pages, whatever the URLs of a list look like."""

from __future__ import annotations

import pytest

from crawl.model.status import Status
from tests.fetcher.small_web import SmallWeb, fetch


@pytest.mark.parametrize("url", ["HTTP://a.org/p", "http://A.org/p", "hTTps://a.org/p"])
def test_no_spelling_passes_by_a_robots_txt(url: str) -> None:
    origin = "https://a.org" if url.lower().startswith("https") else "http://a.org"
    web = SmallWeb({url: "page", f"{origin}/robots.txt": "User-agent: *\nDisallow: /\n"})
    done = fetch(web, [url])
    assert done.statuses[url] is Status.FETCH_GONE
    assert web.asked == {f"{origin}/robots.txt": 1}


def test_a_scheme_without_robots_txt_has_no_rules() -> None:
    done = fetch(SmallWeb({"ftp://a.org/p": "page"}), ["ftp://a.org/p"])
    assert done.statuses["ftp://a.org/p"] is Status.FETCH_SUCCESS
    assert "robots_requests" not in done.engine.counters
