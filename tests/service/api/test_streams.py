"""Streams: what is heard, gone on with, bounded, and over when its key is."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from crawl.service.callers.scope import Scope
from tests.service.api.served import WAIT_S, Running, running, wait_until
from tests.service.api.small_site import SmallSite

pytestmark = pytest.mark.slow(seconds=20)


class Stream:
    """Server-sent events as they come."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.response = response

    def next(self) -> dict[str, str]:
        """The fields of the next event; empty at the end."""
        fields: dict[str, str] = {}
        while line := self.response.readline():
            text = line.decode().rstrip("\n")
            if not text and "event" in fields:
                return fields
            name, _, value = text.partition(": ")
            if name:
                fields[name] = value
        return {}

    def url(self) -> str:
        data = json.loads(self.next()["data"])
        return str(data["url"])


@contextmanager
def listening(service: Running, path: str = "/v1/events", **headers: str) -> Iterator[Stream]:
    """Listens from when the block begins: the first line has come."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=WAIT_S)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        yield Stream(response)
    finally:
        connection.close()


def test_whoever_connects_again_hears_what_was_missed(service: Running, site: SmallSite) -> None:
    first, second = site.url("/p/again1"), site.url("/p/again2")
    with listening(service, "/v1/events?tag=again") as stream:
        service.submit(first, tags=["again"])
        heard = stream.next()
        assert json.loads(heard["data"])["url"] == first
    (job,) = service.submit(second, tags=["again"])
    service.ended(job["id"])
    headers = {"Last-Event-ID": heard["id"]}
    with listening(service, "/v1/events?tag=again", **headers) as stream:
        assert stream.url() == second


def test_an_id_of_nobody_is_told_that_something_may_be_missing(service: Running) -> None:
    for text in ("1-1", "nonsense", "9" * 100):
        with listening(service, **{"Last-Event-ID": text}) as stream:
            lagged = stream.next()
            assert (lagged["event"], lagged["data"]) == ("lagged", '{"missed":null}')


def test_only_what_is_asked_for_is_heard(service: Running, site: SmallSite) -> None:
    with (
        listening(service, "/v1/events?tag=wanted") as by_tag,
        listening(service, "/v1/events?host=SITE.test") as by_host,
    ):
        service.submit(site.url("/p/other"))
        service.submit(site.url("/p/tagged"), tags=["wanted"])
        service.submit(f"http://site.test:{site.port}/p/hosted")
        assert by_tag.url().endswith("/tagged")
        assert by_host.url().endswith("/hosted")


def test_who_has_gone_is_forgotten(service: Running) -> None:
    wait_until(lambda: service.crawl.bus.listeners == 0)
    with listening(service), listening(service):
        assert service.crawl.bus.listeners == 2
    wait_until(lambda: service.crawl.bus.listeners == 0)


def test_the_pages_of_a_crawl_from_any_of_them_on(service: Running, site: SmallSite) -> None:
    wish = {"seeds": [site.url("/p/c")], "limits": {"pages": 3}, "formats": ["markdown"]}
    crawl = service.ask("POST", "/v1/crawls", wish).value["id"]
    path = f"/v1/crawls/{crawl}/pages"
    with listening(service, path, Accept="text/event-stream") as stream:
        pages = [stream.next() for _ in range(3)]
        assert [page["id"] for page in pages] == ["1", "2", "3"]
        end = stream.next()
        assert end["event"] == "end" and json.loads(end["data"])["state"] == "finished"
    with listening(
        service, path, **{"Accept": "text/event-stream", "Last-Event-ID": "2"}
    ) as stream:
        assert stream.next()["id"] == "3"
    lines = service.ask("GET", f"{path}?after=1").body.splitlines()
    assert [json.loads(line)["number"] for line in lines] == [2, 3]
    answer = service.ask("GET", path, headers={"Accept": "text/markdown"})
    assert answer.headers["content-type"].startswith("text/markdown")
    assert service.ask("GET", path, headers={"Accept": "image/png"}).code == "not_acceptable"


def test_a_stream_ends_when_its_key_is_disabled(service: Running) -> None:
    made = service.crawl.keys.make("listener", [Scope.LOOKUP])
    with listening(service, Authorization=f"Bearer {made.text}") as stream:
        service.crawl.keys.disable(made.key.id)
        assert stream.next() == {}
    assert service.ask("GET", "/v1/events", key=made.text).code == "key_disabled"


def test_one_key_has_so_many_streams(strict: Running) -> None:
    with listening(strict), listening(strict):
        answer = strict.ask("GET", "/v1/events")
        assert (answer.status, answer.code) == (429, "too_many_streams")
        assert int(answer.headers["retry-after"]) > 0

    def is_let_in() -> bool:
        return strict.ask("HEAD", "/v1/events").status == 200

    wait_until(is_let_in)


def test_a_stream_has_an_end_after_which_nothing_is_missed(
    tmp_path_factory: pytest.TempPathFactory, site: SmallSite
) -> None:
    folder = tmp_path_factory.mktemp("short")
    with running(folder, "service.http.stream.time=200ms") as service:
        with listening(service) as stream:
            assert stream.next() == {}
        (job,) = service.submit(site.url("/p/short"))
        service.ended(job["id"])
        wait_until(lambda: service.crawl.bus.listeners == 0)


def test_a_listener_that_reads_nothing_keeps_nobody_waiting(
    service: Running, site: SmallSite
) -> None:
    with socket.create_connection(("127.0.0.1", service.port), timeout=WAIT_S) as deaf:
        deaf.sendall(f"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n\r\n".encode())
        wait_until(lambda: service.crawl.bus.listeners > 0)
        for number in range(5):
            assert service.fetch(site.url(f"/p/deaf{number}"), max_age=0).status == 200
    wait_until(lambda: service.crawl.bus.listeners == 0)
