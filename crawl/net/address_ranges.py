"""The special IP addresses: one table, so that every Python gives the same answer.

From IANA's special-purpose address registries (RFC 6890 and its successors, as of 2026) and
the documentation of clouds. `ipaddress` is not asked: what it calls private or reserved has
changed from one release to the next (192.0.0.0/24, 64:ff9b:1::/48, 2001::/23, 3fff::/20 …).
"""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class AddressRange(StrEnum):
    """What kind of address one is."""

    PUBLIC = ""
    METADATA = "a metadata address"
    """Of the machine's own cloud, which gives credentials to anybody who asks there."""
    UNSPECIFIED = "unspecified"
    LOOPBACK = "loopback"
    LINK_LOCAL = "link-local"
    PRIVATE = "private"
    """Not globally reachable: of private networks, of documentation, of tests."""
    MULTICAST = "multicast"
    RESERVED = "reserved"


_METADATA_NETWORKS: Final = (
    "169.254.0.0/16",  # 169.254.169.254 of most clouds; .170.2, .170.23, .0.23, .42.42 of some
    "168.63.129.16/32",  # Azure: public, but answers inside the cloud only
    "100.100.100.200/32",  # Alibaba
    "192.0.0.192/32",  # Oracle
    "fe80::a9fe:a9fe/128",  # OpenStack
    "fd00:ec2::/32",  # AWS: ::254 and ::23
    "fd00:c1::a9fe:a9fe/128",  # Oracle
    "fd00:42::42/128",  # Scaleway
    "fd20:ce::254/128",  # Google
)
METADATA_NAMES: Final = frozenset(
    (
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "metadata.azure.internal",
        "metadata.tencentyun.com",
        "instance-data",
        "instance-data.ec2.internal",
    )
)
"""Hosts that clouds answer for with their metadata."""

LOOPBACK_NAMES: Final = ("localhost", "localdomain", "ip6-localhost", "ip6-loopback")
"""These, and all names below them, mean the machine that is asked (RFC 6761)."""

PRIVATE_NAMES: Final = ("internal", "local", "home.arpa")
"""All names below these are of private networks (ICANN 2024, RFC 6762, RFC 8375)."""

_RANGES: Final = {
    AddressRange.METADATA: _METADATA_NETWORKS,
    AddressRange.UNSPECIFIED: ("0.0.0.0/8", "::/128"),
    AddressRange.LOOPBACK: ("127.0.0.0/8", "::1/128"),
    AddressRange.LINK_LOCAL: ("fe80::/10",),
    AddressRange.PRIVATE: (
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by customers of a provider
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; the two of them that are public are no web servers
        "192.0.2.0/24",  # documentation
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "100::/64",  # discard
        "100:0:0:1::/64",  # dummy prefix
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID …
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation
        "fc00::/7",
        "fec0::/10",  # site-local, long deprecated
    ),
    AddressRange.MULTICAST: ("224.0.0.0/4", "ff00::/8"),
    AddressRange.RESERVED: (
        "192.88.99.0/24",  # once of 6to4 relays
        "240.0.0.0/4",
    ),
}
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
"""What IPv6 addresses of the internet are taken from; all else that has no row is reserved,
5f00::/16 of segment routing and ::ffff:0:0:0/96 of translators among it."""


def _network(text: str) -> Network:
    return IPv6Network(text) if ":" in text else IPv4Network(text)


_TABLE: Final = tuple((_network(text), kind) for kind, texts in _RANGES.items() for text in texts)
"""The first that fits counts."""

_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_COMPATIBLE: Final = IPv6Network("::/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_LOCAL_NAT64: Final = IPv6Network("64:ff9b:1::/48")
_SIX_TO_FOUR: Final = IPv6Network("2002::/16")
_TEREDO: Final = IPv6Network("2001::/32")
_ISATAP: Final = (0x00005EFE, 0x02005EFE)
_NAT64_BYTES: Final = ((6, 7, 9, 10), (7, 9, 10, 11), (9, 10, 11, 12), (12, 13, 14, 15))
"""Where RFC 6052 puts an IPv4 address after a prefix of 48, 56, 64 and 96 bits; the shorter
ones, 32 and 40, do not fit into 64:ff9b:1::/48."""


def range_of(address: Address) -> AddressRange:
    """The kind of the address itself, whatever it carries."""
    for network, kind in _TABLE:
        if address.version == network.version and address in network:
            return kind
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return AddressRange.RESERVED
    return AddressRange.PUBLIC


def is_carrier(address: Address) -> bool:
    """Whether a host or a gateway turns it into an IPv4 address, by which it is judged."""
    if isinstance(address, IPv4Address):
        return False
    carriers = (_MAPPED, _NAT64, _LOCAL_NAT64, _SIX_TO_FOUR)
    return any(address in each for each in carriers) or (
        address in _COMPATIBLE and int(address) > 1
    )


def embedded_ipv4(address: Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 address may stand for, and lead to."""
    if isinstance(address, IPv4Address):
        return ()
    number, packed = int(address), address.packed
    last = IPv4Address(packed[12:])
    if address in _LOCAL_NAT64:
        # which length the network's own gateway uses is not known: each reading counts. Zeros
        # are what the others leave there, and reach no host.
        readings = [IPv4Address(bytes(packed[at] for at in places)) for places in _NAT64_BYTES]
        real = [each for each in readings if range_of(each) is not AddressRange.UNSPECIFIED]
        return tuple(dict.fromkeys(real)) or (readings[-1],)
    if is_carrier(address):
        return (IPv4Address(packed[2:6]) if address in _SIX_TO_FOUR else last,)
    if address in _TEREDO:
        return IPv4Address(packed[4:8]), IPv4Address(int(last) ^ 0xFFFFFFFF)
    if (number >> 32) & 0xFFFFFFFF in _ISATAP:
        return (last,)
    return ()
