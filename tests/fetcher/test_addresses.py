from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.fetcher.addresses import AddressPolicy

REFUSED = [
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("10.1.2.3", "private"),
    ("172.31.0.1", "private"),
    ("192.168.1.1", "private"),
    ("100.64.0.1", "private"),
    ("169.254.1.1", "link-local"),
    ("169.254.169.254", "metadata"),
    ("168.63.129.16", "metadata"),
    ("100.100.100.200", "metadata"),
    ("0.0.0.0", "unspecified"),
    ("0.1.2.3", "unspecified"),
    ("224.0.0.1", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "reserved"),
    ("192.0.2.1", "private"),
    ("::", "unspecified"),
    ("::1", "loopback"),
    ("fe80::1", "link-local"),
    ("fe80::1%eth0", "link-local"),
    ("fc00::1", "private"),
    ("fd00:ec2::254", "metadata"),
    ("fec0::1", "private"),
    ("ff02::1", "multicast"),
    ("2001:db8::1", "private"),
    ("::ffff:127.0.0.1", "loopback"),
    ("::ffff:169.254.169.254", "metadata"),
    ("::127.0.0.1", "loopback"),
    ("2002:7f00:1::", "loopback"),
    ("64:ff9b::7f00:1", "loopback"),
    ("64:ff9b::a9fe:a9fe", "metadata"),
    ("64:ff9b:1::a00:1", "private"),
    ("2001:0:102:304::80ff:fffe", ""),
]


@pytest.mark.parametrize(("address", "reason"), REFUSED)
def test_only_the_public_internet_by_default(address: str, reason: str) -> None:
    refusal = AddressPolicy().refusal(address)
    assert refusal is not None and reason in refusal


@pytest.mark.parametrize(
    "address",
    [
        *("93.184.216.34", "8.8.8.8", "2606:2800:220:1::1"),
        *("::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"),
    ],
)
def test_public_addresses_are_asked(address: str) -> None:
    assert AddressPolicy().refusal(address) is None


def test_the_switch_for_intranets_opens_neither_metadata_nor_nonsense() -> None:
    policy = AddressPolicy(allow_private=True)
    for address in ("127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.1.1", "::1", "fc00::1"):
        assert policy.refusal(address) is None, address
    for address in (
        "169.254.169.254",
        "0.0.0.0",
        "0.0.7.232",
        "::",
        "224.0.0.1",
        "255.255.255.255",
    ):
        assert policy.refusal(address) is not None, address


def test_exclude_goes_before_include_and_include_is_all_there_is() -> None:
    policy = AddressPolicy(["10.0.0.0/8", "localhost"], ["10.1.0.0/16"])
    assert policy.refusal("10.2.0.1") is None
    assert policy.refusal("127.0.0.1") is None
    assert policy.refusal("::1") is None
    assert policy.refusal("10.1.0.1") == "10.1.0.1 is excluded"
    assert policy.refusal("::ffff:10.1.0.1") is not None
    assert policy.refusal("8.8.8.8") == "8.8.8.8 is not included"


def test_words_and_single_addresses() -> None:
    assert AddressPolicy(exclude=["SiteLocal"], allow_private=True).refusal("192.168.3.4")
    assert AddressPolicy(exclude=["8.8.8.8"]).refusal("8.8.8.8")
    assert AddressPolicy(exclude=["loopback"], allow_private=True).refusal("127.3.2.1")


def test_what_is_no_address_is_refused() -> None:
    for text in ("", "a.test", "2130706433", "0x7f.1", "127.1", "127.0.0.1 "):
        assert AddressPolicy(allow_private=True).refusal(text) is not None


def test_the_configuration_is_checked() -> None:
    with pytest.raises(ConfigError, match="http.filter.ipaddress.exclude: 'intranet'"):
        AddressPolicy.of(Config.of({"http.filter.ipaddress.exclude": ["intranet"]}))
    config = Config.of({"http.filter.ipaddress.allow.private": True})
    assert AddressPolicy.of(config).refusal("127.0.0.1") is None
