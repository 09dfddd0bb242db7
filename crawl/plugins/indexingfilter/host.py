"""indexingfilter host: domain, subdomain and tld of the page's host."""

from __future__ import annotations

from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.documents import IndexDocument
from crawl.urls.domains import registered_domain, tld


class HostIndexingFilter(IndexingFilter):
    """Fields host, domain, subdomain (without the domain) and tld."""

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument:
        if not page.host:
            return document
        fields = document.fields
        domain = registered_domain(page.host)
        fields["host"] = page.host
        fields["domain"] = domain
        subdomain = page.host.removesuffix(domain).rstrip(".")
        if subdomain:
            fields["subdomain"] = subdomain
        top = tld(page.host)
        if top:
            fields["tld"] = top
        return document
