"""The properties that the parsing pipeline itself reads; plugins declare their own."""

from __future__ import annotations

from crawl.config import Property, boolean, choice, duration, file, integer, size, string_list, text

PLUGIN_PARSER: Property[tuple[str, ...]] = string_list(
    "plugin.parser",
    ("html", "feed", "sitemap", "xml", "text", "json", "pdf", "zip", "js", "tika", "metadata"),
    "The parsers. Of those that read a page's type the first is asked first; those that name"
    " the type itself come before those for text/* and */*.",
)
PARSER_MAPPING_FILE: Property[str] = file(
    "parse.plugin.file",
    "parse-plugins.txt",
    "Lines `type TAB parser…` that say which parsers are asked for a type, in which order.",
)
PARSEFILTER_ORDER: Property[tuple[str, ...]] = string_list(
    "parsefilter.order", ("language", "fields"), "The parse filters, in the order they are asked."
)
DB_SIGNATURE_CLASS: Property[str] = text(
    "db.signature.class", "md5", "The signature plugin, by name or as module:attr."
)
URLEXEMPTION_ORDER: Property[tuple[str, ...]] = string_list(
    "urlexemption.order",
    (),
    "Plugins that keep external links although db.ignore.external.links is set.",
)
PARSER_TIMEOUT: Property[float] = duration(
    "parser.timeout", 30, "Longest time for one page; -1: no limit.", unit="s", minimum=-1
)
PARSER_MEMORY_LIMIT: Property[int] = size(
    "parser.memory.limit",
    2 << 30,
    "Memory that the parsers of a task may take beyond what they start with; 0: no limit.",
)
PARSER_SKIP_TRUNCATED: Property[bool] = boolean(
    "parser.skip.truncated", True, "Leave pages unparsed whose body is not whole."
)
PARSER_STORE_TEXT: Property[bool] = boolean("parser.store.text", True, "Write parse_text.")
PARSER_MAIN_CONTENT: Property[bool] = boolean(
    "parser.main.content",
    True,
    "Keep the text of HTML pages without menus and footers beside the whole: what index, near"
    " duplicates and export take for the page's text.",
)
PARSER_DEFAULT_CHARSET: Property[str] = text(
    "parser.character.encoding.default",
    "windows-1252",
    "Charset of a text that names none and in which none is recognised.",
)
PARSER_SITEMAP_MAX_DEPTH: Property[int] = integer(
    "parser.sitemap.max.depth",
    3,
    "Sitemap indexes that may lie below each other; what a deeper one lists is dropped.",
    minimum=1,
)
PARSER_CACHING_POLICY: Property[str] = choice(
    "parser.caching.forbidden.policy",
    "content",
    ("content", "all", "none"),
    "What to keep from readers of a page that says noarchive; noted in its metadata.",
)
MIME_TYPE_MAGIC: Property[bool] = boolean(
    "mime.type.magic", True, "Look at the first bytes of a page to tell its type."
)
PARSE_FILTER_URLS: Property[bool] = boolean(
    "parse.filter.urls", True, "Pass outlinks through the URL filters."
)
PARSE_NORMALIZE_URLS: Property[bool] = boolean(
    "parse.normalize.urls", True, "Pass outlinks through the URL normalizers."
)
DB_PARSEMETA_TO_CRAWLDB: Property[tuple[str, ...]] = string_list(
    "db.parsemeta.to.crawldb", (), "Keys of the parse's metadata that go to the CrawlDb."
)
HTTP_AGENT_NAME: Property[str] = text(
    "http.agent.name", "", "Name of the crawler, told to every server; must be set."
)
