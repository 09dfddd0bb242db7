from __future__ import annotations

import pytest
from hypothesis import given

from crawl.urls.parse import host_of
from crawl.urls.partition import Partitioner, PartitionKey, PartitionMode
from tests.urls.texts import texts


class Addresses:
    """A resolver that knows a few hosts and remembers what it was asked."""

    def __init__(self, known: dict[str, str]) -> None:
        self.known = known
        self.asked: list[str] = []

    def __call__(self, host: str) -> str | None:
        self.asked.append(host)
        if host == "broken.com":
            raise OSError("no answer")
        return self.known.get(host)


def key_of_url(partitioner: Partitioner, url: str) -> PartitionKey | None:
    host = host_of(url)
    return partitioner.key_of_host(host) if host else None


def test_by_host_and_by_domain() -> None:
    url = "http://www.Example.co.uk:8080/x"
    by_host, by_domain = map(Partitioner, (PartitionMode.BY_HOST, PartitionMode.BY_DOMAIN))
    assert key_of_url(by_host, url) == PartitionKey("www.example.co.uk")
    assert key_of_url(by_domain, url) == PartitionKey("example.co.uk")


def test_by_ip_asks_once_a_host_and_counts_who_has_no_address() -> None:
    resolver = Addresses({"a.com": "192.0.2.1", "b.com": "192.0.2.1"})
    by_ip = Partitioner(PartitionMode.BY_IP, resolver)
    assert key_of_url(by_ip, "http://a.com/1") == key_of_url(by_ip, "http://b.com/2")
    assert key_of_url(by_ip, "http://a.com/3") == PartitionKey("192.0.2.1")
    for _ in range(2):
        assert by_ip.key_of_host("nowhere.com") == PartitionKey("nowhere.com", resolved=False)
        assert by_ip.key_of_host("broken.com") == PartitionKey("broken.com", resolved=False)
    assert resolver.asked == ["a.com", "b.com", "nowhere.com", "broken.com"]


def test_the_cache_is_bounded_and_forgets_the_oldest() -> None:
    resolver = Addresses({})
    by_ip = Partitioner(PartitionMode.BY_IP, resolver, cache_size=2)
    for host in ("a", "b", "a", "c", "a", "b"):
        by_ip.key_of_host(host)
    assert resolver.asked == ["a", "b", "c", "b"]


def test_by_ip_needs_a_resolver() -> None:
    with pytest.raises(ValueError, match="resolver"):
        Partitioner(PartitionMode.BY_IP)


@given(texts)
def test_total(text: str) -> None:
    for mode in PartitionMode:
        key = key_of_url(Partitioner(mode, Addresses({})), text)
        assert key is None or key.key


def test_files_are_one_group_and_nothing_is_looked_up() -> None:
    resolver = Addresses({})
    for mode in PartitionMode:
        assert Partitioner(mode, resolver).key_of_host("").key == ""
    assert resolver.asked == []
