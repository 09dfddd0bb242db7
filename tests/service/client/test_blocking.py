"""The client that waits, beside a service that keeps the contract."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator
from itertools import islice

import pytest

import crawl
from crawl.errors import NotFetchedYet, ServiceFault, ServiceUnreachable, UsageError
from crawl.service.client import Client, JobState
from tests.service.client.small_service import SmallService, small_service

A = "http://a.test/"


@pytest.fixture
def service() -> Iterator[SmallService]:
    with small_service() as served:
        yield served


@pytest.fixture
def client(service: SmallService) -> Iterator[Client]:
    with crawl.connect(service.address, key="k3y", timeout=20) as connected:
        yield connected


def test_a_known_page_comes_at_once_with_all_that_the_service_said(
    service: SmallService, client: Client
) -> None:
    service.pages[A] = {"url": A, "card": {"title": "Ä"}, "novelty": 3, "code": 200}
    page = client.fetch(A, wait="1.5s", max_age="1h")
    assert (page.url, page.final_url, page.title, page.code) == (A, A, "Ä", 200)
    assert page.raw["novelty"] == 3
    method, path, headers, body = service.asked[0]
    assert (method, path) == ("POST", "/v1/fetch?wait=1.5s")
    assert headers["authorization"] == "Bearer k3y"
    assert body == {"url": A, "max_age": "1h"}


def test_text_and_image_come_where_they_are_asked_for(
    service: SmallService, client: Client
) -> None:
    service.pages[A] = {"url": A, "markdown": "# Ä", "image": {"url": "http://a.test/i.png"}}
    formats = ["metadata", "markdown"]
    page = client.fetch(A, formats=iter(formats), image=True)
    assert page.markdown == "# Ä" and page.image["url"] == "http://a.test/i.png"
    client.submit(A, formats=formats, image=False)
    client.lookup([A] * 301, formats=iter(formats))
    client.url(A, formats=formats)
    client.crawl_site(A, formats=formats, image=True, per_host=7)
    asked = [(path, body) for _, path, _, body in service.asked]
    assert [body["formats"] for _, body in asked if body] == [formats] * 5, "of both look-ups, too"
    assert [body.get("image") for _, body in asked if body] == [True, False, None, None, True]
    assert asked[4][0].endswith("&formats=metadata%2Cmarkdown")
    assert asked[5][1]["limits"] == {"per_host": 7}
    with pytest.raises(UsageError, match="formats: expected a list"):
        client.fetch(A, formats="markdown")


def test_a_page_that_takes_longer_is_a_fault_with_its_job(
    service: SmallService, client: Client
) -> None:
    with pytest.raises(NotFetchedYet, match=rf"^{A} is not fetched yet.*wait\('j9'\)") as late:
        client.fetch(A, wait=0)
    assert isinstance(late.value, ServiceFault) and late.value.may_pass
    assert (late.value.job_id, late.value.status) == ("j9", 202)
    page = {"url": A, "title": "at last"}
    service.jobs["j9"] = [{"id": "j9", "url": A, "state": "finished", "page": page}]
    (job,) = client.wait(late.value.job_id)
    assert job.state == JobState.FINISHED
    assert job.page is not None and job.page.title == "at last"
    assert len(service.asked) == 2, "it is asked for once"


def test_an_answer_with_neither_page_nor_job_is_not_understood(
    service: SmallService, client: Client
) -> None:
    service.waits = None
    with pytest.raises(ServiceFault, match="neither a page nor the id of a job"):
        client.fetch(A, wait=0)


def test_urls_are_submitted_and_waited_for(service: SmallService, client: Client) -> None:
    jobs = client.submit([A, {"url": "http://bad.test/", "tags": ["x"]}], priority="high")
    assert [each.state for each in jobs] == ["queued", "refused"]
    assert jobs[1].reason == "filter"
    assert service.asked[0][3]["priority"] == "high"
    queued = {"id": "j0", "url": "", "state": "queued"}
    done = {"id": "j0", "url": A, "state": "finished", "page": {"url": A, "title": "a"}}
    service.jobs["j0"] = [queued, queued, done]
    found = client.wait(jobs, timeout=60)
    assert [each.state for each in found] == ["finished", "refused"]
    assert found[0].page is not None and found[0].page.title == "a"
    assert client.job("j0").is_done


def test_who_waits_in_vain_is_told_how_things_are(client: Client) -> None:
    jobs = client.submit(A)
    client_jobs = client.wait(jobs, timeout=0.2)
    assert [(each.url, each.is_done) for each in client_jobs] == [(A, False)]


def test_urls_of_a_text(client: Client) -> None:
    assert [each.url for each in client.submit(text=f"see {A} and that")] == [A]
    assert client.submit([]) == []


@pytest.mark.parametrize("count", [0, 1, 300, 301, 700])
def test_lookups_of_any_number_keep_their_order(
    count: int, service: SmallService, client: Client
) -> None:
    urls = [f"{A}{n}" for n in range(count)]
    service.pages = {url: {"url": url} for url in urls[::2]}
    found = client.lookup(iter(urls))
    assert [each and each.url for each in found] == [
        url if n % 2 == 0 else None for n, url in enumerate(urls)
    ]
    assert len(service.asked) == -(-count // 300)


def test_one_url_and_a_search(service: SmallService, client: Client) -> None:
    url = "http://a.test/?q=1&r=ä b"
    service.pages = {url: {"url": url, "title": "red apples"}}
    assert client.url(A) is None
    found = client.url(url)
    assert found is not None and found.url == url
    assert [(hit.url, hit.score) for hit in client.search("red", limit=3)] == [(url, 1.5)]


# faults


def test_a_fault_has_the_words_of_the_service_but_no_escapes(client: Client) -> None:
    with pytest.raises(ServiceFault, match=r"so it is\\x1b\[31m 404 \(not_found\)") as fault:
        client.job("nothing")
    assert (fault.value.status, fault.value.code) == (404, "not_found")
    assert fault.value.details == {"n": 1}
    assert isinstance(fault.value, crawl.CrawlError)


def test_a_busy_service_is_asked_again_when_it_wants(service: SmallService, client: Client) -> None:
    service.refusals.extend([(429, {"Retry-After": "0"}), (503, {})])
    assert [each.url for each in client.submit(A)] == [A]
    assert len(service.asked) == 3


def test_nobody_waits_for_what_would_be_too_late(service: SmallService, client: Client) -> None:
    service.refusals.append((503, {"Retry-After": "3600"}))
    with pytest.raises(ServiceFault) as fault:
        client.submit(A)
    assert (fault.value.status, fault.value.retry_after_seconds) == (503, 3600)
    assert fault.value.may_pass
    assert len(service.asked) == 1


def test_what_is_wrong_is_not_sent_again(service: SmallService, client: Client) -> None:
    service.refusals.append((400, {}))
    with pytest.raises(ServiceFault) as fault:
        client.lookup([A])
    assert not fault.value.may_pass
    assert len(service.asked) == 1


class Rude:
    """Takes connections, reads what comes and hangs up."""

    def __init__(self, answers: list[bytes]) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.requests = 0
        self._answers = answers
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            with connection:
                connection.recv(65536)
                answer = self._answers[min(self.requests, len(self._answers) - 1)]
                self.requests += 1
                connection.sendall(answer)


def test_a_question_is_asked_again_where_the_answer_broke_off() -> None:
    body = b'{"pages": [null]}'
    good = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (
        len(body),
        body,
    )
    rude = Rude([b"", good[:-3], good])
    assert crawl.connect(f"http://127.0.0.1:{rude.port}").lookup([A]) == [None]
    assert rude.requests == 3


def test_urls_are_not_submitted_twice() -> None:
    rude = Rude([b""])
    with pytest.raises(ServiceUnreachable, match="cannot be reached") as fault:
        crawl.connect(f"http://127.0.0.1:{rude.port}").submit([A])
    assert rude.requests == 1
    assert fault.value.may_pass


def test_nobody_at_home() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # nobody listens there
        address = f"http://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(ServiceUnreachable) as fault:
            crawl.connect(address, timeout=0.3).submit([A])
    assert "refused" in str(fault.value)
    assert "HTTPConnection" not in str(fault.value)


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"pages": 3}', b'{"pages": []}', b"\xff", b"<p>"])
def test_an_answer_of_somebody_else_is_a_fault(body: bytes) -> None:
    rude = Rude([b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)])
    with pytest.raises(ServiceFault, match="is not understood"):
        crawl.connect(f"http://127.0.0.1:{rude.port}").lookup([A])


def test_a_redirect_is_a_fault_so_that_the_key_goes_nowhere() -> None:
    rude = Rude([b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.9/\r\nContent-Length: 0\r\n\r\n"])
    with pytest.raises(ServiceFault, match="HTTP status 302"):
        crawl.connect(f"http://127.0.0.1:{rude.port}", key="secret").lookup([A])
    assert rude.requests == 1


@pytest.mark.parametrize(
    "address",
    ["", "127.0.0.1:80", "ftp://a.test", "http://", "http://u:p@a.test", "http://a/?q", 3],
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(UsageError, match="connect"):
        crawl.connect(address)


@pytest.mark.parametrize("key", ["a b", "a\r\nX: y", "", "ä", 3])
def test_keys_that_are_none(key: str) -> None:
    with pytest.raises(UsageError, match="a key is a text"):
        crawl.connect("http://127.0.0.1:1", key=key)


def test_what_cannot_be_meant(client: Client) -> None:
    for wrong in (
        lambda: client.fetch(A, wait="soon"),
        lambda: client.submit(),
        lambda: client.submit([A], text="x"),
        lambda: client.submit([A], priority="urgent"),
        lambda: client.submit([object()]),  # type: ignore[list-item]
        lambda: client.lookup(A),
        lambda: client.lookup([3]),  # type: ignore[list-item]
        lambda: client.crawl_site([]),
        lambda: client.crawl_site(A, hosts="a.test"),
        lambda: client.fetch(""),
        lambda: client.fetch("http://a.test/\ud800"),
        lambda: client.fetch(7),  # type: ignore[arg-type]
        lambda: client.fetch(A, max_age=-1),
        lambda: client.fetch(A, max_age=float("nan")),
        lambda: client.fetch(A, max_age=object()),  # type: ignore[arg-type]
        lambda: client.url(""),
        lambda: client.job(""),
        lambda: client.search(""),
        lambda: client.site_crawl("").status(),
    ):
        with pytest.raises(UsageError):
            wrong()


# streams


def test_events_go_on_where_a_connection_ended(service: SmallService, client: Client) -> None:
    service.events = [{"id": f"j{n}", "job": f"j{n}", "url": f"{A}{n}"} for n in range(7)]
    service.per_connection = 3
    found = list(islice(client.events(), 7))
    assert [each.job for each in found] == [f"j{n}" for n in range(7)]
    assert [each.event_id for each in found] == [str(n) for n in range(1, 8)]
    sent = [headers.get("last-event-id") for _, _, headers, _ in service.asked]
    assert sent == [None, "3", "6"]
    assert next(client.events(last_id="5")).job == "j5"


def test_who_is_too_slow_is_told_what_was_missed(
    service: SmallService, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    service.events = [{"job": "j0", "url": A}, {"missed": 7}, {"job": "j8", "url": A}]
    missed = list[int | None]()
    found = list(islice(client.events(on_missed=missed.append), 2))
    assert [each.job for each in found] == ["j0", "j8"]
    assert missed == [7]
    assert len(list(islice(client.events(), 2))) == 2
    assert "7 events of the crawl service were missed" in caplog.text


@pytest.mark.parametrize("state", ["finished", "cancelled", "time_limit"])
def test_a_crawl_that_is_over_ends_its_stream(
    state: str, service: SmallService, client: Client
) -> None:
    service.crawl_state = state
    assert list(client.site_crawl("c-1").pages()) == []


def test_an_event_ends_the_pages_of_a_crawl(service: SmallService, client: Client) -> None:
    service.crawl_state, service.tells_the_end = "finished", True
    refused = {"id": "j1", "url": A, "state": "refused", "reason": "robots"}
    service.crawl_pages = [{"id": "j0", "url": "x", "page": {"url": A, "title": "a"}}, refused]
    found = list(client.site_crawl("c-1").pages())
    assert [(each.url, each.title, each.reason) for each in found] == [
        (A, "a", ""),
        (A, None, "robots"),
    ]
    assert len(service.asked) == 1


def test_who_leaves_a_stream_hangs_up(service: SmallService, client: Client) -> None:
    service.events = [{"job": "j0", "url": A, "page": {"url": A, "title": "a"}}]
    events = client.events()
    page = next(events).page
    assert page is not None and page.title == "a"
    events.close()
    assert service.left.wait(60)


def test_a_stream_that_is_refused_for_a_while(service: SmallService, client: Client) -> None:
    service.events = [{"job": "j0", "url": A}]
    service.refusals.extend([(503, {"Retry-After": "0"}), (429, {"Retry-After": "0"})])
    assert next(client.events()).job == "j0"
    service.refusals.append((401, {}))
    with pytest.raises(ServiceFault) as fault:
        next(client.events())
    assert fault.value.status == 401


def test_a_service_that_stays_away_ends_a_stream(service: SmallService) -> None:
    client = Client("http://127.0.0.1:9", timeout=0.3, rng=random.Random(0))
    with pytest.raises(ServiceUnreachable):
        next(client.events())


def test_a_site_is_crawled(service: SmallService, client: Client) -> None:
    service.crawl_pages = [{"url": f"{A}{n}"} for n in range(5)]
    service.per_connection = 2
    site = client.crawl_site(A, hosts=["a.test"], pages=5, formats=["markdown"])
    assert service.asked[0][3] == {
        "seeds": [A],
        "scope": {"hosts": ["a.test"]},
        "limits": {"pages": 5},
        "formats": ["markdown"],
    }
    assert site.status().raw["pages"] == 5
    pages = site.pages()
    assert [next(pages).url for _ in range(3)] == [f"{A}{n}" for n in range(3)]
    site.cancel()
    assert [each.url for each in pages] == [f"{A}3", f"{A}4"]
    assert site.status().is_done
    assert client.site_crawl("c-1").status().state == "cancelled"
    assert ("DELETE", "/v1/crawls/c-1") in {(method, path) for method, path, _, _ in service.asked}
