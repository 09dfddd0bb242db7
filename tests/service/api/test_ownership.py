"""What one key sees of another's doings: nothing, unless it may see all."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from crawl.service.callers.scope import Scope
from tests.service.api.served import WAIT_S, Running, running
from tests.service.api.small_site import SmallSite, small_site
from tests.service.webhooks.receiver import Receiver, running_receiver

pytestmark = pytest.mark.slow(seconds=15)


@dataclass(frozen=True, slots=True)
class Keyed:
    """A service with three keys."""

    service: Running
    site: SmallSite
    alice: str
    bob: str
    admin: str


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    folder = tmp_path_factory.mktemp("ownership")
    settings = ("service.webhooks.allow.private=true", "service.webhooks.poll=0.05")
    with small_site() as site, running(folder, *settings, bind="0.0.0.0") as service:
        usual = [Scope.SUBMIT, Scope.FETCH, Scope.LOOKUP, Scope.CRAWL, Scope.WEBHOOKS]
        yield Keyed(
            service,
            site,
            service.crawl.keys.make("alice", usual).text,
            service.crawl.keys.make("bob", usual).text,
            service.crawl.keys.make("admin", [Scope.ADMIN]).text,
        )


def test_a_job_is_seen_by_its_own_key_while_it_waits_and_when_it_ended(keyed: Keyed) -> None:
    service, url = keyed.service, keyed.site.url("/held/job")
    (job,) = service.submit(url, key=keyed.alice, tags=["t"], priority="high")
    path = f"/v1/jobs/{job['id']}"
    waiting = service.ask("GET", path, key=keyed.alice)
    assert waiting.status == 200
    assert waiting.value["url"] == waiting.value["final_url"] == url
    assert waiting.value["state"] == "queued"
    assert waiting.value["submitted_ms"] > 0 and waiting.value["tags"] == ["t"]
    assert waiting.value["priority"] == "high" and waiting.value["chain"] == []
    assert service.ask("GET", path, key=keyed.bob).status == 404
    assert service.ask("GET", path, key=keyed.admin).status == 200
    keyed.site.release.set()
    ended = service.ended(job["id"], key=keyed.alice)
    assert ended["url"] == url and ended["state"] == "finished"
    assert ended["finished_ms"] >= ended["submitted_ms"]
    assert service.ask("GET", path, key=keyed.bob).code == "not_found"
    assert service.ask("GET", path, key=keyed.admin).value["state"] == "finished"


def test_two_keys_that_want_one_url_have_a_job_each(keyed: Keyed) -> None:
    url = keyed.site.url("/p/both")
    (first,) = keyed.service.submit(url, key=keyed.alice)
    (second,) = keyed.service.submit(url, key=keyed.bob, max_age=0)
    assert first["id"] != second["id"]
    assert keyed.service.ended(first["id"], key=keyed.alice)["page"]["title"] == "Page both"
    assert keyed.service.ended(second["id"], key=keyed.bob)["page"]["title"] == "Page both"
    assert keyed.service.ask("GET", f"/v1/jobs/{first['id']}", key=keyed.bob).status == 404


def test_a_site_crawl_is_its_own_keys(keyed: Keyed) -> None:
    wish = {"seeds": [keyed.site.url("/p/seed")], "limits": {"pages": 2}}
    made = keyed.service.ask("POST", "/v1/crawls", wish, key=keyed.alice)
    path = f"/v1/crawls/{made.value['id']}"
    for method, of in (("GET", path), ("GET", f"{path}/pages"), ("DELETE", path)):
        assert keyed.service.ask(method, of, key=keyed.bob).code == "not_found"
    pages = keyed.service.ask("GET", f"{path}/pages", key=keyed.alice).body.splitlines()
    assert len(pages) == 2
    ids = [json.loads(page)["id"] for page in pages]
    assert keyed.service.ask("GET", f"/v1/jobs/{ids[0]}", key=keyed.bob).status == 404
    assert keyed.service.ask("GET", "/v1/crawls", key=keyed.bob).value == {"crawls": []}
    assert len(keyed.service.ask("GET", "/v1/crawls", key=keyed.admin).value["crawls"]) == 1


def _events(keyed: Keyed, key: str, count: int, url: str) -> list[str]:
    """The URLs of the next events that the key hears, after it has begun to listen."""
    connection = http.client.HTTPConnection("127.0.0.1", keyed.service.port, timeout=WAIT_S)
    connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {key}"})
    answer = connection.getresponse()
    assert answer.status == 200
    answer.readline()  # once this has come, it listens
    heard: list[str] = []
    for each, tag in ((keyed.alice, "of-alice"), (keyed.bob, "of-bob")):
        (job,) = keyed.service.submit(f"{url}-{tag}", key=each)
        keyed.service.ended(job["id"], key=each)
    while len(heard) < count:
        line = answer.readline()
        assert line, "the stream ended"
        if line.startswith(b"data: "):
            heard.append(json.loads(line[6:])["url"].rpartition("/")[2])
    connection.close()
    return heard


def test_events_are_of_ones_own_jobs(keyed: Keyed) -> None:
    url = keyed.site.url("/p/e")
    assert _events(keyed, keyed.admin, 2, f"{url}1") == ["e1-of-alice", "e1-of-bob"]
    assert _events(keyed, keyed.bob, 1, f"{url}2") == ["e2-of-bob"]
    assert _events(keyed, keyed.alice, 1, f"{url}3") == ["e3-of-alice"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as each:
        yield each


def test_webhooks_are_told_of_ones_own_jobs(keyed: Keyed, receiver: Receiver) -> None:
    service = keyed.service
    for key, path in ((keyed.bob, "/bob"), (keyed.admin, "/admin")):
        made = service.ask("POST", "/v1/webhooks", {"url": receiver.url(path)}, key=key)
        assert made.status == 201, made
        assert service.ask("GET", f"/v1/webhooks/{made.value['id']}", key=keyed.alice).status == 404
    for key, name in ((keyed.alice, "h-alice"), (keyed.bob, "h-bob")):
        (job,) = service.submit(keyed.site.url(f"/p/{name}"), key=key)
        service.ended(job["id"], key=key)
    told = {
        path: {json.loads(each.body)["url"].rpartition("/")[2] for each in receiver.wait_for(*want)}
        for path, want in {"/admin": ("/admin", 2), "/bob": ("/bob", 1)}.items()
    }
    assert told == {"/admin": {"h-alice", "h-bob"}, "/bob": {"h-bob"}}
    assert service.ask("GET", "/v1/webhooks", key=keyed.alice).value == {"webhooks": []}
    assert len(service.ask("GET", "/v1/webhooks", key=keyed.bob).value["webhooks"]) == 1
    assert len(service.ask("GET", "/v1/webhooks", key=keyed.admin).value["webhooks"]) == 2
