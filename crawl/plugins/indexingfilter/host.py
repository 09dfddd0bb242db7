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
        document.fields["host"] = page.host
        document.fields["domain"] = domain = registered_domain(page.host)
        if subdomain := page.host.removesuffix(domain).rstrip("."):
            document.fields["subdomain"] = subdomain
        if top := tld(page.host):
            document.fields["tld"] = top
        return document
