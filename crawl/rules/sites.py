"""Whether the links of a crawl have to do with one site or with several.

Links within a host say little where pages of many hosts are compared, and are all that there is
where one site is crawled. So the properties that leave them out are `auto` by default: they are
left out once the links have to do with more than one host, or domain. Pages count, and what they
link to: a site's links to others make them matter, whether those are fetched or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from crawl.urls.domains import registered_domain

AUTO = "auto"
SITES = "sites"
"""The note of a snapshot made of links: which sites they have to do with, and what followed."""
_SEVERAL = 2
"""So many are as good as any number."""


@dataclass(frozen=True, slots=True)
class Sites:
    """Hosts and registered domains, two at most: none, one or several is what matters."""

    hosts: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()

    @property
    def one_host(self) -> str | None:
        return self.hosts[0] if len(self.hosts) == 1 else None

    @property
    def one_domain(self) -> str | None:
        return self.domains[0] if len(self.domains) == 1 else None

    @property
    def are_several(self) -> bool:
        """Whether no further host or domain would change anything."""
        return len(self.hosts) == len(self.domains) == _SEVERAL

    def with_hosts(self, hosts: Iterable[str]) -> Sites:
        """These and those of hosts, of which an empty one is none."""
        names = [name for name in hosts if name]
        return self | Sites(_few(names), _few(map(registered_domain, names)))

    def __or__(self, other: Sites) -> Sites:
        return Sites(_few((*self.hosts, *other.hosts)), _few((*self.domains, *other.domains)))

    def as_note(self) -> dict[str, Any]:
        return {name: list(values) for name, values in asdict(self).items()}

    @classmethod
    def from_note(cls, note: Mapping[str, Any]) -> Sites:
        return cls(tuple(note["hosts"]), tuple(note["domains"]))


UNKNOWN_SITES = Sites(("", "."), ("", "."))
"""Of a snapshot without a note: several, for what was left out of it does not come back."""


def _few(names: Any) -> tuple[str, ...]:
    return tuple(sorted(set(names))[:_SEVERAL])


def decided(value: str, *, is_one: bool) -> bool:
    """What a property that is true, false or auto says of links within a site: whether they are
    left out."""
    return not is_one if value == AUTO else value == "true"
