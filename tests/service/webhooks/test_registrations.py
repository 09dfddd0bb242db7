from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.errors import UsageError
from crawl.service.event_filter import EventFilter
from crawl.service.stores.memory import MemoryStore
from crawl.service.stores.store import Space
from crawl.service.webhooks.endpoint import EndpointRefused, EndpointRules
from crawl.service.webhooks.registrations import Registrations
from crawl.service.webhooks.values import PauseReason, WebhookEvent
from crawl.testing.clock import ManualClock
from crawl.testing.store_contract import NOW_MS

ADDRESSES = {
    "hook.example": ["93.184.216.34"],
    "inside.example": ["10.0.0.1"],
    "both.example": ["93.184.216.34", "127.0.0.1"],
    "six.example": ["2606:2800:220:1::1"],
    "mapped.example": ["::ffff:169.254.169.254"],
    "nothing.example": [],
}


def resolve(host: str) -> list[str]:
    if host not in ADDRESSES:
        raise OSError(-2, "Name or service not known")
    return ADDRESSES[host]


def rules(**values: object) -> EndpointRules:
    return EndpointRules.of(Config.of(values), resolve)


def registrations(store: MemoryStore | None = None, most: int = 100) -> Registrations:
    clock = ManualClock(NOW_MS)
    return Registrations(store or MemoryStore(clock), clock, rules(), most_per_owner=most)


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("https://hook.example/a?b=1#c", "https://hook.example/a?b=1"),
        ("HTTP://Hook.Example:80", "http://hook.example/"),
        ("https://six.example:8443/x", "https://six.example:8443/x"),
        ("http://93.184.216.34/", "http://93.184.216.34/"),
    ],
)
def test_endpoints_that_are_taken(url: str, taken: str) -> None:
    assert rules().check(url).url == taken


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "no http or https"),
        ("ftp://hook.example/", "no http or https"),
        ("file:///etc/passwd", "no http or https"),
        ("gopher://hook.example/", "no http or https"),
        ("//hook.example/", "no http or https"),
        ("https://user:pass@hook.example/", "user or password"),
        ("https://hook.example/\r\nX-Evil: 1", "control character"),
        ("https://hook.example/\n", "control character"),
        ("https://hook.example/a b", "blank"),
        ("\thttps://hook.example/", "control character"),
        ("https://hook.example/\x00", "control character"),
        ("https://hook.example/" + "x" * 3_000, "at most 2,048"),
        ("http://127.0.0.1/", "loopback"),
        ("http://2130706433/", "loopback"),
        ("http://0x7f.1/", "loopback"),
        ("http://0177.0.0.1/", "loopback"),
        ("http://127.1/", "loopback"),
        ("http://[::1]/", "loopback"),
        ("http://[::ffff:127.0.0.1]/", "loopback"),
        ("http://[64:ff9b::7f00:1]/", "loopback"),
        ("http://localhost/", "loopback"),
        ("http://a.localhost./", "loopback"),
        ("http://0.0.0.0/", "unspecified"),
        ("http://10.1.2.3/", "private"),
        ("http://192.168.1.1:8080/", "private"),
        ("http://[fd00::1]/", "private"),
        ("http://[fe80::1]/", "link-local"),
        ("http://169.254.169.254/latest/meta-data/", "metadata"),
        ("http://metadata.google.internal/", "metadata"),
        ("http://inside.example/", "private"),
        ("http://both.example/", "loopback"),
        ("http://mapped.example/", "metadata"),
        ("http://unknown.example/", "cannot be looked up"),
        ("http://nothing.example/", "no address"),
        ("http://printer.local/", "private"),
    ],
)
def test_endpoints_that_are_refused(url: str, why: str) -> None:
    with pytest.raises(EndpointRefused, match=why) as caught:
        registrations().add("k", url, ["*"])
    assert str(caught.value).isprintable()


def test_private_endpoints_where_they_are_allowed_but_never_metadata() -> None:
    allowed = rules(**{"service.webhooks.allow.private": True})
    assert allowed.check("http://127.0.0.1:9/").port == 9
    assert allowed.check("http://inside.example/").host == "inside.example"
    for url in ("http://169.254.169.254/", "http://mapped.example/"):
        with pytest.raises(EndpointRefused, match="metadata"):
            allowed.check(url)
    excluded = rules(**{"http.filter.ipaddress.exclude": ["93.184.0.0/16"]})
    with pytest.raises(EndpointRefused, match="excluded"):
        excluded.check("https://hook.example/")


def test_what_is_registered_is_found_by_its_owner_alone() -> None:
    store = MemoryStore(ManualClock(NOW_MS))
    webhooks = registrations(store)
    made = webhooks.add("k", "https://hook.example/", ["finished", "finished"])
    assert made.events == ("finished",)
    assert made.secret.startswith("whsec_")
    assert made.secret not in repr(made)
    assert webhooks.get(made.id) == webhooks.get(made.id, "k") == made
    assert webhooks.get(made.id, "other") is None
    assert registrations(store).list("k") == [made]
    assert webhooks.list("other") == []
    assert not webhooks.remove(made.id, "other")
    assert webhooks.remove(made.id, "k")
    assert not webhooks.remove(made.id, "k")
    assert webhooks.list() == []
    assert store.scan(Space.WEBHOOKS) == []
    assert webhooks.get("../" * 100) is None


def test_who_wants_what() -> None:
    webhooks = registrations()
    everything = webhooks.add("k", "https://hook.example/", ["*"])
    by_host = webhooks.add(
        "k", "https://hook.example/", ["finished"], filter=EventFilter(hosts=("Example.COM",))
    )
    by_crawl = webhooks.add(
        "k", "https://hook.example/", ["finished"], filter=EventFilter(crawl="c1", tags=("a",))
    )

    def wanting(type: str, **values: object) -> set[str]:
        given = {"owner": "k", **values}
        event = WebhookEvent(type, b"{}", **given)  # type: ignore[arg-type]
        return {each.id for each in webhooks.wanting(event)}

    assert wanting("failed", host="www.example.com") == {everything.id}
    assert wanting("finished", host="www.example.com") == {everything.id, by_host.id}
    assert wanting("finished", host="notexample.com") == {everything.id}
    assert wanting("finished", crawl="c1", tags=("a", "b")) == {everything.id, by_crawl.id}
    assert wanting("finished", crawl="c1", tags=("b",)) == {everything.id}
    assert wanting("finished", owner="other") == set()


def test_a_webhook_of_all_is_told_of_what_others_have_done() -> None:
    webhooks = registrations()
    own = webhooks.add("k", "https://hook.example/", ["*"])
    every = webhooks.add("admin", "https://hook.example/", ["*"], is_of_all=True)

    def wanting(owner: str) -> set[str]:
        return {each.id for each in webhooks.wanting(WebhookEvent("finished", b"{}", owner=owner))}

    assert wanting("k") == {own.id, every.id}
    assert wanting("other") == wanting("") == {every.id}


def test_paused_and_resumed() -> None:
    webhooks = registrations()
    made = webhooks.add("k", "https://hook.example/", ["*"])
    webhooks.note_failing(made.id, 5)
    paused = webhooks.pause(made.id, PauseReason.GONE)
    assert paused is not None
    assert paused.pause_reason is PauseReason.GONE
    assert webhooks.pause(made.id, PauseReason.REQUESTED) == paused
    assert webhooks.resume(made.id) == made
    assert webhooks.pause("wh_" + "0" * 24, PauseReason.GONE) is None


def test_a_webhook_of_a_disabled_key_is_told_of_nothing_until_it_is_enabled() -> None:
    clock, disabled = ManualClock(NOW_MS), {"k"}
    webhooks = Registrations(
        *(MemoryStore(clock), clock, rules()), is_enabled=lambda key: key not in disabled
    )
    url = "https://hook.example/"
    made = [webhooks.add(key, url, ["*"], is_of_all=True) for key in ("k", "other", "local")]
    event = WebhookEvent("finished", b"{}")
    reasons = {each.id: each.pause_reason for each in webhooks.wanting(event)}
    expected = [PauseReason.KEY_DISABLED, PauseReason.ACTIVE, PauseReason.ACTIVE]
    assert [reasons[each.id] for each in made] == expected
    known = webhooks.known(made[0].id)
    assert known is not None and known.pause_reason is PauseReason.KEY_DISABLED
    disabled.clear()
    assert not any(each.pause_reason for each in webhooks.wanting(event))


def test_what_cannot_be_meant_is_refused() -> None:
    webhooks = registrations(most=1)
    url = "https://hook.example/"
    for events in ([], ["Finished"], ["a\r\nb"], ["x" * 65], [str(number) for number in range(51)]):
        with pytest.raises(UsageError, match="kind"):
            webhooks.add("k", url, events)
    for wrong in (
        EventFilter(tags=("",)),
        EventFilter(hosts=("a\n",)),
        EventFilter(crawl="x" * 300),
        EventFilter(tags=tuple(map(str, range(101)))),
    ):
        with pytest.raises(UsageError, match="filter"):
            webhooks.add("k", url, ["*"], filter=wrong)
    with pytest.raises(UsageError, match="bytes in base64"):
        webhooks.add("k", url, ["*"], secret="short\r\n")
    webhooks.add("k", url, ["*"])
    with pytest.raises(UsageError, match="no more are taken"):
        webhooks.add("k", url, ["*"])
    webhooks.add("other", url, ["*"])
