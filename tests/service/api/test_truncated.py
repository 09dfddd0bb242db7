"""Pages that are longer than is stored of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.api.served import running
from tests.service.api.small_site import SmallSite

_LIMIT = 160
"""Behind the title and the beginning of the text."""


@pytest.mark.slow(seconds=10)
def test_a_page_that_was_cut_is_told_as_far_as_it_goes(site: SmallSite, tmp_path: Path) -> None:
    url = site.url("/p/long")
    with running(tmp_path, f"http.content.limit={_LIMIT}") as service:
        answer = service.fetch(url, formats=["markdown"]).value
        page = answer.get("page", answer)
        assert (page["title"], page["truncated"], page["bytes"]) == ("Page long", "length", _LIMIT)
        assert "Hello long" in page["markdown"] and "parse" not in page
        known = service.ask("GET", f"/v1/url?url={url}").value
        assert (known["title"], known["truncated"]) == ("Page long", "length")
        # of one that is cut there is nothing that "not modified" could be said of
        again = service.fetch(url, max_age=0).value
        assert again.get("page", again)["truncated"] == "length"


@pytest.mark.slow(seconds=10)
def test_it_is_left_unparsed_where_that_is_set(site: SmallSite, tmp_path: Path) -> None:
    settings = (f"http.content.limit={_LIMIT}", "parser.skip.truncated=true")
    with running(tmp_path, *settings) as service:
        answer = service.fetch(site.url("/p/left")).value
        page = answer.get("page", answer)
        assert "title" not in page and page["truncated"] == "length"
        assert page["parse"] == "the body is not whole: length"
