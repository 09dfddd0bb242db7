"""Where a webhook may lead: what its URL must be, and which addresses may be asked.

The addresses are judged twice: when an endpoint is registered, so that whoever does it is told
at once, and at each connection, which goes to the very address that was judged. So it does not
help to have a name that resolves to another address later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from crawl.config import Config
from crawl.errors import UsageError
from crawl.net.addresses import EXCLUDE, AddressPolicy
from crawl.net.dns import Resolve, system_addresses
from crawl.printable import printable
from crawl.service.callers.settings_access import WEBHOOKS_ALLOW_PRIVATE
from crawl.urls.parse import parse, serialize

MAX_URL: Final = 2_048
_PORTS: Final = {"http": 80, "https": 443}
_HARMFUL = re.compile(r"[\x00-\x20\x7f-\xa0]")
"""Blanks and controls, line breaks among them: the URL standard drops some of them, and others
might end a header. A URL with one is refused, not repaired."""


class EndpointRefused(UsageError):
    """An endpoint to which nothing is delivered."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A URL that deliveries may go to, as far as its text tells."""

    url: str
    host: str
    """As in the URL; IPv6 in brackets."""
    port: int


class EndpointRules:
    """Judges URLs and addresses."""

    def __init__(self, policy: AddressPolicy, resolve: Resolve = system_addresses) -> None:
        self._policy = policy
        self._resolve = resolve

    @classmethod
    def of(cls, config: Config, resolve: Resolve = system_addresses) -> EndpointRules:
        # what pages may be fetched from says nothing about endpoints, but for what is excluded
        allow_private = config[WEBHOOKS_ALLOW_PRIVATE]
        return cls(AddressPolicy((), config[EXCLUDE], allow_private=allow_private), resolve)

    def read(self, url: str) -> Endpoint:
        """The endpoint that a URL names; EndpointRefused where it may be none."""
        if len(url) > MAX_URL:
            raise EndpointRefused(f"the URL of a webhook has at most {MAX_URL:,} characters")
        if _HARMFUL.search(url):
            raise EndpointRefused(f"a blank or control character in {printable(url, 200)}")
        parts = parse(url)
        if parts is None or parts.scheme not in _PORTS or not parts.host:
            raise EndpointRefused(f"no http or https URL: {printable(url, 200)}")
        if parts.username or parts.password:
            raise EndpointRefused(
                "a user or password in the URL of a webhook: use its secret to verify deliveries"
            )
        text = serialize(parts._replace(fragment=None))
        return Endpoint(text, parts.host, parts.port or _PORTS[parts.scheme])

    def addresses(self, endpoint: Endpoint) -> tuple[str, ...]:
        """The addresses of an endpoint. EndpointRefused where one of them must not be asked: a
        name that has both kinds is not the doing of an honest person. OSError where it has none."""
        host = endpoint.host
        refused = self._policy.name_refusal(host)
        if refused is None:
            addresses = self._look_up(host)
            if not addresses:
                raise OSError(f"{host} has no address")
            refusals: Iterable[str | None] = map(self._policy.refusal, addresses)
            refused = next(filter(None, refusals), None)
            if refused is None:
                return addresses
        raise EndpointRefused(f"nothing is delivered to {printable(host, 200)}: {refused}")

    def check(self, url: str) -> Endpoint:
        """The endpoint that a URL names, whose addresses may be asked now."""
        endpoint = self.read(url)
        try:
            self.addresses(endpoint)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise EndpointRefused(
                f"{printable(endpoint.host, 200)} cannot be looked up: {why}"
            ) from None
        return endpoint

    def _look_up(self, host: str) -> tuple[str, ...]:
        literal = host.removeprefix("[").removesuffix("]")
        try:
            return (str(ip_address(literal)),)
        except ValueError:
            return tuple(self._resolve(host.removesuffix(".")))
