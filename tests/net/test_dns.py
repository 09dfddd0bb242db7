from __future__ import annotations

import threading

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.protocol import FailureKind
from crawl.net.dns import HostLookup, HostResolver, HostsFile


class Names:
    """A resolver that counts."""

    def __init__(self, **addresses: list[str]) -> None:
        self.addresses = addresses
        self.asked: list[str] = []

    def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        if host not in self.addresses:
            raise OSError(-2, "Name or service not known")
        return self.addresses[host]


def hosts_file(text: str, **values: object) -> Config:
    return Config.of({"http.resolver.hosts.file": "hosts", **values}, files={"hosts": text})


def test_remembered_for_a_while() -> None:
    now = 100.0
    names = Names(a=["8.8.8.8"])
    resolver = HostResolver(Config.of({"http.dns.ttl": 60}), names, monotonic=lambda: now)
    assert resolver.locate("a") == HostLookup(("8.8.8.8",))
    names.addresses["a"] = ["9.9.9.9"]
    now = 159.0
    assert resolver.locate("a").addresses == ("8.8.8.8",)
    now = 161.0
    assert resolver.locate("a").addresses == ("9.9.9.9",)
    assert names.asked == ["a", "a"]


def test_an_unknown_host_is_remembered_too_but_shorter() -> None:
    now = 100.0
    names = Names()
    resolver = HostResolver(Config.of(), names, monotonic=lambda: now)
    for _ in range(3):
        located = resolver.locate("gone.example")
    assert located.kind is FailureKind.UNKNOWN_HOST and not located.addresses
    assert "gone.example" in located.message
    assert len(names.asked) == 1
    now += 31
    resolver.locate("gone.example")
    assert len(names.asked) == 2


def test_private_addresses_are_left_out_and_alone_they_are_refused() -> None:
    names = Names(mixed=["10.0.0.1", "8.8.8.8"], inner=["127.0.0.1", "10.0.0.1"])
    resolver = HostResolver(Config.of(), names)
    assert resolver.locate("mixed").addresses == ("8.8.8.8",)
    refused = resolver.locate("inner")
    assert refused.kind is FailureKind.ADDRESS_REFUSED
    assert "127.0.0.1 is loopback" in refused.message


def test_literals_are_judged_without_a_look_up() -> None:
    names = Names()
    resolver = HostResolver(Config.of(), names)
    assert resolver.locate("8.8.8.8").addresses == ("8.8.8.8",)
    assert resolver.locate("[2606:2800:220::1]").addresses == ("2606:2800:220::1",)
    assert resolver.locate("[::1]").kind is FailureKind.ADDRESS_REFUSED
    assert resolver.locate("[::ffff:7f00:1]").kind is FailureKind.ADDRESS_REFUSED
    assert names.asked == []


def test_bounded() -> None:
    names = Names(**{name: ["8.8.8.8"] for name in "abc"})
    resolver = HostResolver(Config.of({"http.dns.cache.size": 2}), names)
    for name in "abcbca":
        resolver.locate(name)
    assert names.asked == ["a", "b", "c", "a"]


def test_one_look_up_at_a_time_for_a_host() -> None:
    release, asked = threading.Event(), []

    def slow(host: str) -> list[str]:
        asked.append(host)
        assert release.wait(10)
        return ["8.8.8.8"]

    resolver = HostResolver(Config.of(), slow)
    found: list[HostLookup] = []
    threads = [
        threading.Thread(target=lambda: found.append(resolver.locate("a"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    release.set()
    for thread in threads:
        thread.join(10)
    assert asked == ["a"]
    assert found == [HostLookup(("8.8.8.8",))] * 8


def test_a_broken_resolver_leaves_nobody_waiting() -> None:
    def broken(host: str) -> list[str]:
        raise RuntimeError(host)

    resolver = HostResolver(Config.of(), broken)
    with pytest.raises(RuntimeError):
        resolver.locate("a")
    assert resolver.locate("a").kind is FailureKind.UNKNOWN_HOST


def test_an_address_without_an_answer_goes_to_the_end() -> None:
    resolver = HostResolver(Config.of(), Names(a=["8.8.8.8", "9.9.9.9"]))
    resolver.demote("a", "8.8.8.8")
    resolver.locate("a")
    resolver.demote("a", "8.8.8.8")
    assert resolver.locate("a").addresses == ("9.9.9.9", "8.8.8.8")


def test_a_hosts_file_with_domains() -> None:
    hosts = HostsFile.of(
        hosts_file(
            "# tests\n127.0.0.1 a.test Bücher.test\n127.0.0.2 *.test\n::1 *.v6.test a.test\n"
        )
    )
    assert hosts.addresses("a.test") == ("127.0.0.1", "::1")
    assert hosts.addresses("xn--bcher-kva.test") == ("127.0.0.1",)
    assert hosts.addresses("x.y.test") == ("127.0.0.2",)
    assert hosts.addresses("x.v6.test") == ("::1",)
    assert hosts.addresses("test") == ()
    assert hosts.addresses("a.example") == ()


def test_the_hosts_file_is_judged_as_well() -> None:
    names = Names()
    closed = HostResolver(hosts_file("127.0.0.1 *.test"), names)
    assert closed.locate("a.test").kind is FailureKind.ADDRESS_REFUSED
    opened = HostResolver(
        hosts_file("127.0.0.1 *.test", **{"http.filter.ipaddress.allow.private": True}), names
    )
    assert opened.locate("a.test").addresses == ("127.0.0.1",)
    assert names.asked == []


@pytest.mark.parametrize("line", ["localhost a.test", "127.0.0.1", "127.0.0.1 a/b c"])
def test_a_wrong_line_is_an_error_that_names_its_place(line: str) -> None:
    with pytest.raises(ConfigError, match="hosts:1"):
        HostsFile.of(hosts_file(line))


def test_what_needs_no_look_up_is_known_at_once() -> None:
    names = Names(a=["8.8.8.8"])
    resolver = HostResolver(hosts_file("9.9.9.9 listed.test"), names)
    assert resolver.locate_cached("listed.test") == HostLookup(("9.9.9.9",))
    assert resolver.locate_cached("8.8.4.4") == HostLookup(("8.8.4.4",))
    refused = resolver.locate_cached("127.0.0.1")
    assert refused is not None
    assert refused.kind is FailureKind.ADDRESS_REFUSED
    assert resolver.locate_cached("a") is None
    resolver.locate("a")
    assert resolver.locate_cached("a") == HostLookup(("8.8.8.8",))


def test_no_host_is_not_looked_up() -> None:
    names = Names(**{"": ["8.8.8.8"]})
    assert HostResolver(Config.of(), names).locate("").kind is FailureKind.UNKNOWN_HOST
    assert names.asked == []
