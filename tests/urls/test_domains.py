from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.urls.domains import domain_of, domains_of, public_suffix, registered_domain, tld
from tests.urls.texts import encodable, texts


@pytest.mark.parametrize(
    ("host", "domain", "suffix", "top"),
    [
        ("www.example.com", "example.com", "com", "com"),
        ("WWW.Example.CO.UK.", "example.co.uk", "co.uk", "uk"),
        ("example.com", "example.com", "com", "com"),
        ("blog.github.io", "github.io", "io", "io"),
        ("a.b.compute.amazonaws.com", "amazonaws.com", "com", "com"),
        ("co.uk", "co.uk", "co.uk", "uk"),
        ("com", "com", "com", "com"),
        ("www.ck", "www.ck", "ck", "ck"),
        ("a.b.ck", "a.b.ck", "b.ck", "ck"),
        ("www.xn--fiqs8s", "www.xn--fiqs8s", "xn--fiqs8s", "xn--fiqs8s"),
        ("localhost", "localhost", None, None),
        ("db.prod.internal", "db.prod.internal", None, None),
        ("192.168.0.1", "192.168.0.1", None, None),
        ("[2001:db8::1]", "[2001:db8::1]", None, None),
        ("a..com", "a..com", "com", "com"),
        ("", "", None, None),
        (".", ".", None, None),
        ("http://x.com/", "http://x.com/", None, None),
        ("\ud800.com", "\ud800.com", "com", "com"),
        ("www.xn--\ud800", "www.xn--\ud800", None, None),
        ("www.xn--a", "www.xn--a", None, None),
    ],
)
def test_domain_suffix_and_tld(host: str, domain: str, suffix: str | None, top: str | None) -> None:
    assert registered_domain(host) == domain
    assert public_suffix(host) == suffix
    assert tld(host) == top


def test_domain_of_a_url() -> None:
    assert domain_of("https://www.example.co.uk:8080/x") == "example.co.uk"
    assert domain_of("mailto:a@example.com") is None
    assert domain_of("no url") is None


def test_a_column_of_hosts() -> None:
    hosts = pa.array(["a.b.com", None, "c.b.com", "a.b.com", "10.0.0.1"])
    assert domains_of(hosts).to_pylist() == ["b.com", None, "b.com", "b.com", "10.0.0.1"]
    assert domains_of(hosts.slice(1, 2)).to_pylist() == [None, "b.com"]
    assert domains_of(pa.array([], pa.string())).to_pylist() == []


@given(texts)
def test_total_and_a_domain_is_its_own_domain(text: str) -> None:
    domain = registered_domain(text)
    assert registered_domain(domain) == domain
    suffix = public_suffix(text)
    assert suffix is None or domain.endswith(suffix)
    assert domain_of(text) is None or isinstance(domain_of(text), str)


@given(st.lists(encodable))
def test_the_column_agrees_with_the_row(hosts: list[str]) -> None:
    found = domains_of(pa.array(hosts, pa.string())).to_pylist()
    assert found == [registered_domain(host) for host in hosts]
