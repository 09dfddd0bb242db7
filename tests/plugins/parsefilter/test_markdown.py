from __future__ import annotations

from dataclasses import replace

from crawl.config import Config
from crawl.interfaces.page import Page
from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.parsing.markdown import MARKDOWN_KEY, cut_markdown
from crawl.plugins.parsefilter.markdown import MarkdownParseFilter
from crawl.testing.parsefilter_contract import URL, ParseFilterContract, a_page

MARKUP = "<html><body><nav>Menu</nav><main><h1>Head</h1><p>A <b>bold</b> word.</p></main></html>"
PARSE = Parse(URL, text="Menu Head A bold word.")


class TestContract(ParseFilterContract):
    plugin_class = MarkdownParseFilter

    def samples(self) -> list[tuple[Page, Parse]]:
        return [(a_page(MARKUP), PARSE), (a_page("", "application/pdf"), PARSE)]


def made(
    page: Page, parse: Parse = PARSE, *, every_page: bool = True, size: int = 1000
) -> str | None:
    config = Config.of({"markdown.every.page": every_page, "markdown.size": size})
    return MarkdownParseFilter(config).filter(page, parse).metadata.get(MARKDOWN_KEY)


def test_it_is_the_main_text_as_it_is_exported() -> None:
    text = made(a_page(MARKUP))
    assert text is not None and "# Head\n\nA **bold** word." in text


def test_of_what_is_no_html_it_is_the_text() -> None:
    assert made(a_page("", "application/pdf")) == PARSE.text
    assert made(a_page("", "application/pdf"), replace(PARSE, text="a\x1b[2Jb")) == "a\\x1b[2Jb"


def test_it_is_made_of_the_pages_that_are_wanted() -> None:
    page = a_page(MARKUP)
    assert made(page, every_page=False) is None
    content = Content(URL, page.body, metadata={MARKDOWN_KEY: "wanted"})
    assert made(Page(content, "text/html"), every_page=False)
    assert made(page, size=0) is None
    assert made(page, replace(PARSE, url=f"{URL}#inside")) is None


def test_a_page_that_forbids_to_be_indexed_has_none_and_counts() -> None:
    closed = replace(PARSE, directives=frozenset(("noindex",)))
    parse = MarkdownParseFilter(Config.of()).filter(a_page(MARKUP), closed)
    assert MARKDOWN_KEY not in parse.metadata
    assert parse.counts["markdown.left_out.noindex"] == 1


def test_a_long_one_ends_with_a_whole_line_where_it_has_lines() -> None:
    assert cut_markdown("eins\nzwei\ndrei", 11) == "eins\nzwei"
    assert cut_markdown("eins\nzwei", 9) == "eins\nzwei"
    assert cut_markdown("größer", 4) == "grö"
    assert cut_markdown("größer", 3) == "gr"
    assert cut_markdown("größer", 8) == "größer"
