"""Search in the pages that were indexed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawl.clock import SystemClock
from crawl.errors import UsageError
from crawl.facade.arguments import check_text, check_whole_number
from crawl.facade.base import Handle

if TYPE_CHECKING:
    from crawl.readers.search.search import CrawlSearch


class Searching(Handle):
    """Questions to the embedded index; no Spark is started for them."""

    _search: CrawlSearch | None = None

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        offset: int = 0,
        per_host: int | None = None,
        duplicates: bool = False,
        exact: bool = False,
        facets: int = 0,
        explain: bool = False,
        writer: str | None = None,
    ) -> dict[str, Any]:
        """The best pages for a query: words, "phrases", -without, and fields such as
        title: host: lang: since:. The index stays open: the next query takes milliseconds.

            >>> web.search('open data lang:en', limit=5)["total"]

        `per_host`: results of one host at most, 0 for any number; `duplicates`: also pages with
        nearly the same text; `exact`: no typos; `facets`: how many hosts and languages to count;
        `explain`: why each page ranks where it does; `writer`: the id of the index writer whose
        index is searched, where there are several.
        """
        from crawl.readers.search.search import CrawlSearch
        from crawl.search.answers import SearchOptions

        with self._working():
            check_text("query", query)
            for name, value in (("query", query), ("limit", limit), ("offset", offset)):
                if value is None:
                    raise UsageError(f"{name}: it is needed, and is None")
            check_whole_number("limit", limit)
            check_whole_number("offset", offset, least=0)
            check_whole_number("per_host", per_host, least=0)
            check_whole_number("facets", facets, least=0)
            check_text("writer", writer)
            if self._search is None:
                self._search = CrawlSearch(self._directory, self._config)
            options = SearchOptions(
                limit=limit,
                offset=offset,
                collapse=not duplicates,
                typos=not exact,
                facets=facets,
                explain=explain,
            )
            return self._search.search(query, SystemClock(), options, per_host, writer).values()
