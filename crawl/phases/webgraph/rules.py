"""Which links of pages count in the link graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from crawl.config import Config, Property
from crawl.graph import settings
from crawl.rules.sites import Sites, decided


@dataclass(frozen=True, slots=True)
class LinkRules:
    """The rules of link.ignore.*: which links do not count."""

    ignore_internal_host: bool = True
    ignore_internal_domain: bool = True
    limit_page: bool = True
    limit_domain: bool = True

    @classmethod
    def of(cls, config: Config, sites: Sites) -> LinkRules:
        """The rules by the properties, for links of a crawl that have to do with these sites."""
        one_host, one_domain = sites.one_host is not None, sites.one_domain is not None
        return cls(
            decided(config[settings.LINK_IGNORE_INTERNAL_HOST], is_one=one_host),
            decided(config[settings.LINK_IGNORE_INTERNAL_DOMAIN], is_one=one_domain),
            decided(config[settings.LINK_IGNORE_LIMIT_PAGE], is_one=one_domain),
            decided(config[settings.LINK_IGNORE_LIMIT_DOMAIN], is_one=one_domain),
        )

    @property
    def is_limited(self) -> bool:
        """Whether one link of a site may stand for all."""
        return self.limit_page or self.limit_domain


RULE_SETTINGS: Mapping[str, Property[str]] = {
    "ignore_internal_host": settings.LINK_IGNORE_INTERNAL_HOST,
    "ignore_internal_domain": settings.LINK_IGNORE_INTERNAL_DOMAIN,
    "limit_page": settings.LINK_IGNORE_LIMIT_PAGE,
    "limit_domain": settings.LINK_IGNORE_LIMIT_DOMAIN,
}
"""The property of each rule."""
