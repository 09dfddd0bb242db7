"""A whole fetch, fifty requests at once, against every wicked route and honest hosts beside
them: all end as they may, nobody else suffers, and memory stays where it should."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from crawl.interfaces.protocol import FailureKind, Truncation
from crawl.model.answer_keys import CODE_KEY, PROTOCOL_STATUS_KEY
from crawl.model.arrow import strings
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.storage.parquet import open_table
from crawl.storage.segments import CONTENT, Segment
from crawl.synthetic.wicked import HOSTS, ROUTES, FetchEnd, WickedServer
from tests.phases.webs import fetched, listed

EACH = 3
"""Hosts of every route."""

pytestmark = pytest.mark.exhaustive
HONEST_HOSTS, HONEST_PAGES = 20, 10
MAX_MIB = 1024

FETCH = """
import json, sys
from pathlib import Path
from crawl.tables.runner import InProcess
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.storage.crawl_dir import CrawlDir
settings = json.loads(sys.argv[2])
config = Config.of(settings["values"], settings["files"])
fetch.run(InProcess(), CrawlDir(sys.argv[1]), config, FetchOptions(), SystemClock())
status = Path("/proc/self/status").read_text()
print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
"""


@pytest.fixture
def server(wicked: WickedServer) -> WickedServer:
    return wicked


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("plugin", ["http", "http-requests"])
def test_every_wicked_page_has_a_record_and_honest_ones_are_fetched(
    plugin: str, server: WickedServer, tmp_path: Path
) -> None:
    wicked: dict[str, tuple[FetchEnd, ...]] = {
        server.url(route.name, f"{route.name}-{number}.wicked.test"): route.ends
        for route in ROUTES
        for number in range(EACH)
    }
    dead = [server.url(name) for name in HOSTS]
    """Whose rules cannot be had: nothing but their robots.txt is ever asked for."""
    honest = [
        f"{server.url('fine', f'honest-{host}.wicked.test')}/{page}"
        for host in range(HONEST_HOSTS)
        for page in range(HONEST_PAGES)
    ]
    directory, name = listed(str(tmp_path / "crawl"), [*wicked, *dead, *honest], parts=1)

    peak_mib = _fetch(directory.address, plugin, server, [*wicked, *dead, *honest]) / 1024

    rows = {url: row for url, row in fetched(directory, name) if row.status is not Status.LINKED}
    cuts = _cuts(directory.segments.segment(name))
    assert [url for url in honest if rows[url].status is not Status.FETCH_SUCCESS] == []
    wrong = {
        url: (rows.get(url), ends)
        for url, ends in wicked.items()
        if url not in rows or not _ends_so(rows[url], cuts.get(url, ""), ends)
    }
    assert wrong == {}
    assert rows.keys().isdisjoint(dead)
    assert peak_mib < MAX_MIB


def _fetch(address: str, plugin: str, server: WickedServer, urls: list[str]) -> int:
    """Fetches in a process of its own; its largest memory in kB."""
    names = {url.split("/")[2].partition(":")[0] for url in urls}
    settings = {
        "values": {
            "http.agent.name": "testbot",
            "http.filter.ipaddress.allow.private": True,
            "http.resolver.hosts.file": "hosts.txt",
            # enough for honest pages on a busy machine
            "http.timeout": 8000,
            "http.time.limit": "15s",
            "http.robots.503.defer.visits.delay": 100,
            "http.robots.503.defer.visits.retries": 1,
            "fetcher.server.delay": 0.05,
            "fetcher.threads.fetch": 50,
            "plugin.protocol": [plugin],
        },
        "files": {"hosts.txt": "".join(f"{server.resolve(host)} {host}\n" for host in names)},
    }
    done = subprocess.run(
        [sys.executable, "-c", FETCH, address, json.dumps(settings)],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


def _cuts(segment: Segment) -> dict[str, str]:
    """Why bodies are not whole, by URL."""
    found: dict[str, str] = {}
    for file in segment.require(CONTENT).files:
        with open_table(segment.part_folder(CONTENT), file.path) as source:
            table = source.read(["url", "truncated"])
        found |= dict(zip(strings(table["url"]), strings(table["truncated"]), strict=True))
    return found


def _ends_so(row: CrawlDatum, cut: str, ends: tuple[FetchEnd, ...]) -> bool:
    status = row.metadata[PROTOCOL_STATUS_KEY]
    for end in ends:
        if isinstance(end, FailureKind):
            is_so = f"({end.value}" in status
        elif isinstance(end, Truncation):
            is_so = cut == end.value
        else:
            is_so = row.metadata.get(CODE_KEY) == str(end)
        if is_so:
            return True
    # libcurl refuses two different Locations as such
    return f"({FailureKind.MALFORMED_RESPONSE.value}" in status and 302 in ends
