"""The main content of an HTML page: its text without menus and footers."""

from __future__ import annotations

from crawl.counters import Counters
from crawl.interfaces.page import Page
from crawl.maincontent.extract import extract


def main_text(page: Page, counters: Counters) -> str | None:
    """The page's text without menus and footers; None where it has none, which is counted."""
    try:
        text = extract(page.utf_8, markdown=False, tree=page.tree).text
    except MemoryError:
        raise
    except Exception:  # a page must not end the process
        counters["main_content_errors"] += 1
        return None
    if not text:
        counters["main_content_empty"] += 1
    return text or None
