"""The main content of an HTML page: its text without menus and footers."""

from __future__ import annotations

from crawl.counters import Counters
from crawl.interfaces.page import Page
from crawl.parsing.page_time import outside_page_time


def main_text(page: Page, counters: Counters) -> str | None:
    """The page's text without menus and footers. trafilatura, because it is the best of its
    kind in comparisons and in Python; an extra, for it brings much along."""
    with outside_page_time():
        import trafilatura
    try:
        found: str | None = trafilatura.extract(page.markup, url=page.url)
        return found
    except MemoryError:
        raise
    except (Exception, SystemExit):  # a page must not end the process
        counters["main_content_errors"] += 1
        return None
