"""Which IP addresses may be asked: by default those of the public internet only.

A page may link, redirect or resolve to anything, also to the machine's own services or
to a cloud's metadata; so the address itself is judged, not its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from typing import Final

from crawl.config import Config, boolean, string_list
from crawl.errors import ConfigError
from crawl.net.address_ranges import (
    LOOPBACK_NAMES,
    METADATA_NAMES,
    PRIVATE_NAMES,
    Address,
    AddressRange,
    Network,
    embedded_ipv4,
    is_carrier,
    range_of,
)

INCLUDE = string_list(
    "http.filter.ipaddress.include",
    (),
    "Only these addresses are asked: addresses, CIDR blocks, or the words localhost, loopback,"
    " sitelocal, private. Also allows listed addresses that are not public; those of a cloud's"
    " metadata (169.254.0.0/16 among them) only where the very address is listed.",
)
EXCLUDE = string_list(
    "http.filter.ipaddress.exclude",
    (),
    "These addresses are never asked; same notation as http.filter.ipaddress.include.",
)
ALLOW_PRIVATE = boolean(
    "http.filter.ipaddress.allow.private",
    False,
    "Ask private, loopback and link-local addresses too: for tests and intranets. A cloud's"
    " metadata stays refused.",
)

_LOOPBACK = ("127.0.0.0/8", "::1/128")
_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10")
_WORDS: Final = {
    "localhost": _LOOPBACK,
    "loopback": _LOOPBACK,
    "sitelocal": _PRIVATE,
    "private": _PRIVATE,
}
_INTRANET: Final = (AddressRange.LOOPBACK, AddressRange.LINK_LOCAL, AddressRange.PRIVATE)


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
            ip = ip_address(address)
        except ValueError:
            return f"{address[:80]!r} is not an IP address"
        inside = embedded_ipv4(ip)
        reached = (ip, *inside)
        if any(_within(each, self._exclude) for each in reached):
            return f"{address} is excluded"
        if any(
            range_of(each) is AddressRange.METADATA and not self._names(each) for each in reached
        ):
            return f"{address} is {AddressRange.METADATA}"
        if self._include:
            listed = _within(ip, self._include) or (
                bool(inside) and all(_within(each, self._include) for each in inside)
            )
            return None if listed else f"{address} is not included"
        for each in reached:
            reason = self._class_refused(each)
            if reason:
                return f"{address} is {reason}"
        return None

    def name_refusal(self, host: str) -> str | None:
        """Why a proxy must not be asked for a host by its name; None where it may be. What the
        name means there is not known, but some mean the same everywhere."""
        name = host.lower().strip(".")
        if name in METADATA_NAMES:
            refused = self.refusal("169.254.169.254")
            return refused and f"{host} is a metadata host"
        if _is_below(name, LOOPBACK_NAMES):
            refused = self.refusal("127.0.0.1")
            return refused and f"{host} is {AddressRange.LOOPBACK}"
        if _is_below(name, PRIVATE_NAMES) and not (self._allow_private or self._include):
            return f"{host} is {AddressRange.PRIVATE}"
        return None

    def _names(self, address: Address) -> bool:
        """Whether the address itself, not a block around it, is included."""
        return any(
            network.num_addresses == 1 and address in network
            for network in self._include
            if network.version == address.version
        )

    def _class_refused(self, address: Address) -> str:
        """The class that the address is refused for; empty where it is not."""
        if is_carrier(address):
            return ""  # judged by what it carries
        kind = range_of(address)
        return "" if kind in _INTRANET and self._allow_private else kind


def _networks(entries: Iterable[str], setting: str) -> tuple[Network, ...]:
    networks: list[Network] = []
    for entry in entries:
        for text in _WORDS.get(entry.lower(), (entry,)):
            try:
                networks.append(ip_network(text, strict=False))
            except ValueError:
                raise ConfigError(
                    f"{setting}: {entry!r} is no address, no CIDR block and none of the words "
                    + ", ".join(_WORDS)
                ) from None
    return tuple(networks)


def _within(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(network.version == address.version and address in network for network in networks)


def _is_below(name: str, tops: Iterable[str]) -> bool:
    return any(name == top or name.endswith(f".{top}") for top in tops)
