"""What can be said of a URL without a request: its normal form, or why it must not be asked."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.config import Config
from crawl.counters import Counters
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.net.addresses import AddressPolicy
from crawl.service.intake.decide import Checked
from crawl.service.settings import QUERIES
from crawl.urls.parse import resolve
from crawl.urls.servers import server_of

MAX_URL = 4096
"""Characters of a URL that is looked at; whoever has a longer one has a fault or is one."""
_REGEX_QUERIES = "urlfilter.regex.queries"
"""Of the plugin regex (crawl/plugins/urlfilter/regex.py)."""
_SCHEMES = ("http", "https")


@dataclass(frozen=True, slots=True)
class Admission:
    """Judges URLs as they come, and the targets of redirects and links as they are found. A name
    is judged again when it has been resolved, by the client that connects: what it means there
    cannot be known before."""

    normalizers: NormalizerChain
    filters: FilterChain
    addresses: AddressPolicy
    counters: Counters

    @classmethod
    def of(cls, config: Config, counters: Counters) -> Admission:
        rules = config
        if config[QUERIES]:
            rules = config.with_values({_REGEX_QUERIES: True}, QUERIES.name)
        return cls(
            NormalizerChain.from_config(config, Scope.FETCHER),
            FilterChain.from_config(rules),
            AddressPolicy.of(config),
            counters,
        )

    def check(self, text: str) -> Checked:
        """The URL that a text means, or why it is none that may be asked for."""
        if len(text) > MAX_URL:
            return Checked(text[:MAX_URL], "", "too_long")
        url = self.normalizers.normalize(text.strip(), self.counters)
        server = None if url is None else server_of(url)
        if url is None or server is None or len(url) > MAX_URL:
            return Checked(text, "", "malformed")
        if server.scheme not in _SCHEMES:
            return Checked(url, server.host, "scheme")
        if (rejected := self.filters.rejection(url, self.counters)) is not None:
            return Checked(url, server.host, f"filtered.{rejected[0]}")
        if self._is_refused_address(server.host, is_literal=server.is_literal):
            return Checked(url, server.host, "address")
        return Checked(url, server.host)

    def check_image(self, text: str) -> Checked:
        """The same of an image that stands for a page. URL filters are asked of the folder that it
        is in: those that leave out images, as the usual ones do by names and queries, say what
        is crawled, and this is a part of a page that was."""
        checked = self.check(text)
        if not checked.refusal.startswith("filtered."):
            return checked
        folder = resolve(checked.url, "./")
        if folder is None or self.filters.rejection(folder, self.counters) is not None:
            return checked
        if (server := server_of(checked.url)) is None:
            return checked
        is_refused = self._is_refused_address(server.host, is_literal=server.is_literal)
        return Checked(checked.url, server.host, "address" if is_refused else "")

    def normal_form(self, text: str) -> str | None:
        """The URL as it is stored; None for what is none."""
        if len(text) > MAX_URL:
            return None
        return self.normalizers.normalize(text.strip(), self.counters)

    def _is_refused_address(self, host: str, *, is_literal: bool) -> bool:
        if is_literal:
            return self.addresses.refusal(host.strip("[]")) is not None
        return self.addresses.name_refusal(host) is not None
