from __future__ import annotations

import re
from urllib.parse import urljoin

import pytest

from crawl.synthetic.wicked import WickedServer
from tests.synthetic.wicked.client import ask


@pytest.mark.parametrize("name", ["trap-calendar", "trap-deeper", "trap-sessions"])
def test_traps_never_run_out_of_new_pages(wicked: WickedServer, name: str) -> None:
    url = wicked.url(name)
    seen = {url}
    for _ in range(6):
        got = ask(wicked, url)
        assert got.head.startswith(b"HTTP/1.1 200 ")
        links = {urljoin(url, link) for link in re.findall(r'href="(.*?)"', got.body.decode())}
        assert links - seen
        url = sorted(links - seen)[-1]
        seen.add(url)


def test_a_calendar_has_no_day_that_breaks_it(wicked: WickedServer) -> None:
    for day in ("9999/12/31", "0001/01/01", "2026/02/31", "x/y", "1/2/3/4"):
        got = ask(wicked, f"{wicked.url('trap-calendar')}/{day}")
        assert got.head.startswith(b"HTTP/1.1 200 ")
