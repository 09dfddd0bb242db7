"""Site crawls over HTTP, and through the death of the service."""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from crawl.testing.servers.scripted_server import ScriptedServer, honest, scripted_server
from tests.service.site_crawls.serving_process import ServingProcess, serving
from tests.service.site_crawls.site import HTML, html

EACH = 12
NDJSON, SSE, MARKDOWN = "application/x-ndjson", "text/event-stream", "text/markdown"
pytestmark = pytest.mark.slow(seconds=25)


class Web:
    """Three hosts, of which the last answers no page before `may_go_on` is set."""

    def __init__(self, server: ScriptedServer) -> None:
        self.server = server
        self.may_go_on = threading.Event()
        self.paths = [f"/{host}/{number}" for host in "abc" for number in range(EACH)]
        self.urls = [server.url(path, f"{path[1]}.test") for path in self.paths]
        # links between all of them, so that what is fetched again finds what is known
        server.page("/", html("/", *self.urls[::3]), HTML)
        for at, path in enumerate(self.paths):
            links = (*self.urls[at + 1 : at + 3], *self.urls[:3], server.url("/"))
            page = honest(html(path, *links), HTML)
            server.answers[path] = self._held(page) if path[1] == "c" else page

    def _held(self, page: bytes) -> Callable[[socket.socket], None]:
        def answer(connection: socket.socket) -> None:
            self.may_go_on.wait(120)
            connection.sendall(page)

        return answer

    def asked(self) -> Counter[str]:
        targets = (request.target for request in self.server.requests)
        return Counter(target for target in targets if target != "/robots.txt")

    def begin(self, served: ServingProcess) -> str:
        wish = {
            "seeds": [self.server.url("/")],
            "scope": {"hosts": ["a.test", "b.test", "c.test"]},
            "formats": ["metadata", "markdown"],
            "tags": ["t"],
        }
        crawl = served.ask("POST", "/v1/crawls", wish)
        assert crawl["state"] == "running"
        return str(crawl["id"])


def read(served: ServingProcess, crawl: str, after: str = "", most: int = 10_000) -> dict[str, str]:
    """Ids and paths of the pages that are told, until so many came, or the end."""
    told: dict[str, str] = {}
    name = number = ""
    with served.stream(f"/v1/crawls/{crawl}/pages", SSE, after) as lines:
        for line in lines:
            field, _, value = line.partition(": ")
            if field == "event":
                name = value
            elif field == "id":
                number = value
            elif field == "data" and name == "page":
                assert number not in told
                url = json.loads(value)["url"]
                told[number] = "/" + url.partition("://")[2].partition("/")[2]
                if len(told) >= most:
                    return told
            elif field == "data" and name == "end":
                assert json.loads(value)["state"] == "finished"
    return told


def test_a_killed_crawl_goes_on_and_its_readers_too(tmp_path: Path) -> None:
    before_the_kill = EACH
    with scripted_server() as server:
        web = Web(server)
        with serving(tmp_path) as served:
            crawl = web.begin(served)
            told = read(served, crawl, most=before_the_kill)
            served.kill()
        at_the_kill = web.asked()
        web.may_go_on.set()
        with serving(tmp_path) as served:
            told |= read(served, crawl, max(told, key=int))
            view = served.crawl_ended(crawl)
        asked = web.asked()
        assert view["state"] == "finished" and view["outstanding"] == 0
        assert (view["asked"], view["pages"], view["failed"]) == (3 * EACH + 1, 3 * EACH + 1, 0)
        assert asked.keys() == {"/", *web.paths}
        # every page was told once, under numbers without a gap
        assert sorted(told, key=int) == [str(number) for number in range(1, 3 * EACH + 2)]
        assert sorted(told.values()) == sorted(asked)
        # what was told before the kill is not asked for again; nor more than once again
        first = [told[str(number)] for number in range(1, before_the_kill + 1)]
        assert all(asked[path] == 1 for path in first)
        assert all(asked[path] <= at_the_kill[path] + 1 for path in asked)
        assert max(asked.values()) <= 2


def test_the_pages_come_in_every_format(tmp_path: Path) -> None:
    with scripted_server() as server:
        web = Web(server)
        web.may_go_on.set()
        with serving(tmp_path) as served:
            crawl = web.begin(served)
            with served.stream(f"/v1/crawls/{crawl}/pages", NDJSON) as lines:
                rows = [json.loads(line) for line in lines]  # it ends with the crawl
            assert [row["number"] for row in rows] == list(range(1, 3 * EACH + 2))
            assert all(row["page"]["markdown"].startswith("# /") for row in rows)
            assert {row["crawl"] for row in rows} == {crawl} and rows[0]["tags"] == ["t"]
            assert len(read(served, crawl)) == len(rows)
            with served.stream(f"/v1/crawls/{crawl}/pages", MARKDOWN) as lines:
                text = "\n".join(lines)
            assert text.count("\n---\n") == len(rows)
            assert text.count("long enough to be one, about lighthouses") == 3 * len(rows)
            view = served.ask("GET", f"/v1/crawls/{crawl}")
            assert view["state"] == "finished" and view["left_out"] == {}
            asked = f"/v1/url?url={web.urls[0]}&formats=metadata,markdown"
            assert served.ask("GET", asked)["markdown"].startswith("# /a/0")
            lookup = {"urls": web.urls[:2], "formats": ["markdown"]}
            pages = served.ask("POST", "/v1/lookup", lookup)["pages"]
            assert [page["markdown"][:6] for page in pages] == ["# /a/0", "# /a/1"]
            assert (
                "markdown"
                not in served.ask("POST", "/v1/lookup", {"urls": web.urls[:1]})["pages"][0]
            )
            fetched = served.ask("POST", "/v1/fetch", {"url": web.urls[5], "formats": ["markdown"]})
            assert fetched["markdown"].startswith("# /a/5")
