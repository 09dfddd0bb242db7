from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.net.address_ranges import AddressRange, range_of
from crawl.net.addresses import AddressPolicy

REFUSED = [
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("10.1.2.3", "private"),
    ("172.31.0.1", "private"),
    ("192.168.1.1", "private"),
    ("100.64.0.1", "private"),
    ("169.254.1.1", "metadata"),
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
    # what some Pythons take for public
    ("192.0.0.8", "private"),
    ("192.88.99.1", "reserved"),
    ("198.18.0.1", "private"),
    ("100::1", "private"),
    ("2001:2::1", "private"),
    ("2001:1ff::1", "private"),
    ("3fff::1", "private"),
    ("3fff:fff:ffff::1", "private"),
    ("5f00::1", "reserved"),
    ("::ffff:0:8.8.8.8", "reserved"),
    ("4000::1", "reserved"),
    # NAT64 of one's own network (RFC 8215), by each length of RFC 6052 that fits
    ("64:ff9b:1:7f00:0:100::", "loopback"),
    ("64:ff9b:1:7f:0:1::", "loopback"),
    ("64:ff9b:1::7f:0:100:0", "loopback"),
    ("64:ff9b:1::7f00:1", "loopback"),
    ("64:ff9b:1:7f00:0:100:808:808", "loopback"),
    ("64:ff9b:1::", "unspecified"),
    # ISATAP
    ("2606:2800::5efe:7f00:1", "loopback"),
    ("2606:2800::200:5efe:a9fe:a9fe", "metadata"),
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
        *("64:ff9b:1::808:808", "64:ff9b:1:808:8:800::", "3fff:1000::1", "2001:200::1"),
        *("192.31.196.1", "192.0.1.1", "172.15.0.1", "172.32.0.1", "2620:4f:8000::1"),
    ],
)
def test_public_addresses_are_asked(address: str) -> None:
    assert AddressPolicy().refusal(address) is None


def test_the_switch_for_intranets_opens_neither_metadata_nor_nonsense() -> None:
    policy = AddressPolicy(allow_private=True)
    for address in ("127.0.0.1", "10.1.2.3", "192.168.0.1", "fe80::1", "::1", "fc00::1"):
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


METADATA = [
    *("169.254.169.254", "169.254.170.2", "169.254.0.23", "169.254.42.42", "169.254.255.255"),
    *("168.63.129.16", "100.100.100.200", "192.0.0.192"),
]


def disguised(address: IPv4Address) -> list[str]:
    """All IPv6 addresses that lead to it."""
    four, number = address.packed, int(address)
    local = bytes.fromhex("0064ff9b0001")
    return [
        f"::ffff:{address}",
        *([] if number < 2 else [f"::{address}"]),
        f"64:ff9b::{address}",
        f"64:ff9b:1::{address}",
        f"64:ff9b:1:ab:cd::{address}",
        str(IPv6Address(local + four[:2] + b"\0" + four[2:] + bytes(5))),
        str(IPv6Address(local + b"\7" + four[:1] + b"\0" + four[1:] + bytes(4))),
        str(IPv6Address(local + b"\7\7\0" + four + bytes(3))),
        str(IPv6Address(b"\x20\x02" + four + bytes(10))),
        str(IPv6Address(b"\x20\x01\0\0" + bytes(8) + bytes(255 - each for each in four))),
        str(IPv6Address(bytes.fromhex("2606280000000000") + b"\0\0\x5e\xfe" + four)),
    ]


@pytest.mark.parametrize("address", METADATA)
def test_metadata_is_refused_in_every_disguise(address: str) -> None:
    for policy in (
        AddressPolicy(allow_private=True),
        AddressPolicy(["0.0.0.0/0", "::/0", "169.254.0.0/16"]),
    ):
        for form in (address, *disguised(IPv4Address(address))):
            assert "metadata" in (policy.refusal(form) or ""), form


@pytest.mark.parametrize(
    "address",
    [
        *("fe80::a9fe:a9fe", "fe80::a9fe:a9fe%eth0", "fd00:ec2::254", "fd00:ec2::23"),
        *("fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42"),
    ],
)
def test_metadata_has_ipv6_too(address: str) -> None:
    for policy in (AddressPolicy(allow_private=True), AddressPolicy(["private", "fe80::/10"])):
        assert "metadata" in (policy.refusal(address) or "")


def test_an_address_that_is_listed_itself_is_allowed() -> None:
    policy = AddressPolicy(["169.254.169.254", "10.0.0.0/8"])
    assert policy.refusal("169.254.169.254") is None
    assert policy.refusal("169.254.169.253") is not None
    assert policy.name_refusal("metadata.google.internal") is None


@given(st.ip_addresses(v=4))
def test_a_disguise_changes_nothing(address: IPv4Address) -> None:
    policy = AddressPolicy()
    if policy.refusal(str(address)) is not None:
        # of several readings those of zeros, which no gateway passes on, say nothing
        is_nobody = range_of(address) is AddressRange.UNSPECIFIED
        for form in disguised(address)[: 3 if is_nobody else None]:
            assert policy.refusal(form) is not None, form


@given(st.ip_addresses(v=6))
def test_only_the_internets_own_addresses_are_public(address: IPv6Address) -> None:
    if range_of(address) is AddressRange.PUBLIC:
        assert int(address) >> 125 == 1


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LOCALHOST.", "a.localhost", "localhost.localdomain", "ip6-localhost"),
        *("metadata.google.internal", "Metadata.Google.Internal.", "metadata", "instance-data"),
        *("host.docker.internal", "printer.local", "nas.home.arpa", "metadata.tencentyun.com"),
    ],
)
def test_names_that_mean_the_same_everywhere(host: str) -> None:
    assert AddressPolicy().name_refusal(host) is not None
    is_metadata = host.lower().strip(".").startswith(("metadata", "instance-data"))
    assert (AddressPolicy(allow_private=True).name_refusal(host) is not None) == is_metadata


@pytest.mark.parametrize(
    "host", ["example.org", "local.example.org", "notlocalhost", "internal.io"]
)
def test_other_names_are_left_to_the_proxy(host: str) -> None:
    assert AddressPolicy().name_refusal(host) is None


def test_exclude_goes_before_include_and_include_is_all_there_is() -> None:
    policy = AddressPolicy(["10.0.0.0/8", "localhost"], ["10.1.0.0/16"])
    assert policy.refusal("10.2.0.1") is None
    assert policy.refusal("127.0.0.1") is None
    assert policy.refusal("::1") is None
    assert policy.refusal("10.1.0.1") == "10.1.0.1 is excluded"
    assert policy.refusal("::ffff:10.1.0.1") is not None
    assert policy.refusal("8.8.8.8") == "8.8.8.8 is not included"


def test_names_of_ranges_and_single_addresses() -> None:
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
