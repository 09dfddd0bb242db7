"""Which IP addresses may be asked: by default those of the public internet only.

A page may link, redirect or resolve to anything, also to the machine's own services or
to a cloud's metadata; so the address itself is judged (by `ipaddress`), not its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

from crawl.config import Config, Property, boolean, words
from crawl.errors import ConfigError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

INCLUDE: Property[tuple[str, ...]] = words(
    "http.filter.ipaddress.include",
    (),
    "Only these addresses are asked: addresses, CIDR blocks, or the words localhost, loopback,"
    " sitelocal, private. Also allows listed addresses that are not public.",
)
EXCLUDE: Property[tuple[str, ...]] = words(
    "http.filter.ipaddress.exclude",
    (),
    "These addresses are never asked; same notation as http.filter.ipaddress.include.",
)
ALLOW_PRIVATE: Property[bool] = boolean(
    "http.filter.ipaddress.allow.private",
    False,
    "Ask private, loopback and link-local addresses too: for tests and intranets.",
)

_LOOPBACK = ("127.0.0.0/8", "::1/128")
_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10")
_WORDS: Final = {
    "localhost": _LOOPBACK,
    "loopback": _LOOPBACK,
    "sitelocal": _PRIVATE,
    "private": _PRIVATE,
}
_METADATA: Final = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",  # most clouds
        "169.254.170.2",  # container credentials
        "169.254.170.23",
        "168.63.129.16",  # a public address that answers inside a cloud only
        "100.100.100.200",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
    )
)
_THIS_NETWORK: Final = IPv4Network("0.0.0.0/8")
_NAT64: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_COMPATIBLE: Final = IPv6Network("::/96")


class AddressPolicy:
    """Judges addresses. What is excluded is refused, then what is included is allowed."""

    def __init__(
        self,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        *,
        allow_private: bool = False,
    ) -> None:
        self._include = _networks(include, INCLUDE.name)
        self._exclude = _networks(exclude, EXCLUDE.name)
        self._allow_private = allow_private

    @classmethod
    def of(cls, config: Config) -> AddressPolicy:
        return cls(config[INCLUDE], config[EXCLUDE], allow_private=config[ALLOW_PRIVATE])

    def refusal(self, address: str) -> str | None:
        """Why the address must not be asked; None where it may be."""
        try:
            found = ip_address(address)
        except ValueError:
            return f"{address[:80]!r} is not an IP address"
        meant = (found, *_inside(found))
        if any(_within(each, self._exclude) for each in meant):
            return f"{address} is excluded"
        if self._include:
            listed = any(_within(each, self._include) for each in meant)
            return None if listed else f"{address} is not included"
        for each in meant:
            reason = self._class_refused(each)
            if reason:
                return f"{address} is {reason}"
        return None

    def _class_refused(self, address: Address) -> str:
        """The class that the address is refused for; empty where it is not."""
        if address in _METADATA:
            return "a metadata address"
        if address.is_unspecified or address in _THIS_NETWORK:
            return "unspecified"
        if address.is_multicast:
            return "multicast"
        if isinstance(address, IPv6Address) and _carried(address) is not None:
            return ""  # judged by what it carries
        if address.is_loopback:
            return "" if self._allow_private else "loopback"
        if address.is_link_local:
            return "" if self._allow_private else "link-local"
        if address.is_reserved:
            return "reserved"
        if address.is_private or not address.is_global or getattr(address, "is_site_local", False):
            return "" if self._allow_private else "private"
        return ""


def _networks(entries: Iterable[str], setting: str) -> tuple[Network, ...]:
    found: list[Network] = []
    for entry in entries:
        for text in _WORDS.get(entry.lower(), (entry,)):
            try:
                found.append(ip_network(text, strict=False))
            except ValueError:
                raise ConfigError(
                    f"{setting}: {entry!r} is no address, no CIDR block and none of the words "
                    + ", ".join(_WORDS)
                ) from None
    return tuple(found)


def _within(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(address in network for network in networks)


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a host or a gateway turns it into; `::1` is its own."""
    plain = address.ipv4_mapped or address.sixtofour
    if plain is None and (
        _within(address, _NAT64) or (address in _COMPATIBLE and int(address) > 1)
    ):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return plain


def _inside(address: Address) -> tuple[Address, ...]:
    """The IPv4 addresses that an IPv6 address stands for: a detour to the same place."""
    if isinstance(address, IPv4Address):
        return ()
    carried = _carried(address)
    return (address.teredo or ()) if carried is None else (carried,)
