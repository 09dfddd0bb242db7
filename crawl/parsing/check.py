"""Parses one page for a person to look at: what parse would write of it, and of every link
whether it is kept, as what, and if not, why.

The page is parsed in the sandbox by the configured plan, but for the rules about links:
those are asked here, link by link, and so can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from crawl.config import Config
from crawl.counters import Counters
from crawl.model.content import Content
from crawl.model.parse import Outlink, ParseStatus
from crawl.model.tables import PARSE_DATA
from crawl.parsing.fields.rule_file import EXPLAIN, field_rules
from crawl.parsing.fields.rules import FieldRules
from crawl.parsing.fields.stored import EXPLAINED_KEY, ExplainedField, explained_fields
from crawl.parsing.link_lists import is_link_list
from crawl.parsing.outlinks import OutlinkRules, keep_links
from crawl.parsing.plan import ParsePlan
from crawl.parsing.process.sandbox import Sandbox
from crawl.parsing.settings import MIME_TYPE_MAGIC, PARSEFILTER_ORDER

MAX_LINKS = 10_000
"""Links of a page that are checked; of a sitemap or a feed all."""
_MAX_REASONS = 300
"""Dropped links whose reason is looked up one by one."""
_DROPPED = "outlinks_dropped."
_PARSED_BY = "parsed_by."
_FIELDS = "fields"
_TOO_COSTLY = (ParseStatus.TIMEOUT, ParseStatus.MEMORY, ParseStatus.CRASHED)
_ALL_LINKS = OutlinkRules(
    None, None, max_per_page=MAX_LINKS, max_length=2**31 - 1, ignored_rel=frozenset()
)


@dataclass(frozen=True, slots=True)
class CheckedLink:
    """A link of the page and whether it is kept."""

    link: Outlink
    """As the page has it, its target absolute."""
    kept_as: str = ""
    """In normal form; empty where it is dropped."""
    reason: str = ""
    """Why it is dropped, as counted: `filtered`, `limit` …; `?` where that was not looked up."""
    detail: str = ""
    """For `filtered`: the filter and its own reason."""


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """The page, or a document inside it."""

    url: str
    status: str
    message: str
    title: str
    mime_type: str
    charset: str
    language: str
    canonical: str
    directives: str
    signature: bytes | None
    metadata: Mapping[str, str]
    text: str
    main_text: str | None
    links: tuple[CheckedLink, ...]
    fields: tuple[ExplainedField, ...] = ()
    """Of the rules of fields that are for the page: the values, or why there are none."""

    @property
    def is_parsed(self) -> bool:
        return self.status.startswith("success")


@dataclass(frozen=True, slots=True)
class PageCheck:
    """All that parsing found in a page."""

    documents: tuple[CheckedDocument, ...]
    """The page itself first; none where its answer is not one to be parsed."""
    parsers: tuple[str, ...] = ()
    """The parsers that read it."""
    counters: Counters = field(default_factory=Counters)
    """Counts of links dropped before they could be checked (`outlinks_dropped.malformed` …),
    and of plugins that failed."""


class ParseChecker:
    """Parses page after page; to be closed."""

    def __init__(self, config: Config, *, force_as: str = "") -> None:
        """Raises what is wrong with the settings. `force_as` is a MIME type that every page
        is taken for."""
        self._force_as = force_as
        if force_as:
            config = config.with_values({MIME_TYPE_MAGIC.name: False}, "--force-as")
        config = config.with_values({EXPLAIN.name: True}, "the checker")
        self._plan = ParsePlan.from_config(config)
        self._exemptions = self._plan.build().exemptions
        takes_fields = _FIELDS in config[PARSEFILTER_ORDER]
        self._field_rules = field_rules(config) if takes_fields else FieldRules()
        self._sandbox = Sandbox(replace(self._plan, outlinks=_ALL_LINKS))

    def check(self, content: Content) -> PageCheck:
        if self._force_as:
            parameters = content.content_type.partition(";")[2]
            declared = f"{self._force_as};{parameters}" if parameters else self._force_as
            content = replace(content, content_type=declared)
        batch = self._sandbox.parse([content])
        texts = {row["url"]: row for row in batch.parse_text.to_pylist()}
        documents = tuple(
            self._document(row, texts.get(row["url"], {})) for row in batch.parse_data.to_pylist()
        )
        problems = {
            name: count
            for name, count in batch.counters.items()
            if name.startswith((_DROPPED, "plugin_errors.", "fields.cut."))
        }
        parsers = tuple(
            name.removeprefix(_PARSED_BY) for name in batch.counters if name.startswith(_PARSED_BY)
        )
        return PageCheck(documents, parsers, Counters(problems))

    def close(self) -> None:
        self._sandbox.close()

    def __enter__(self) -> ParseChecker:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _document(self, row: dict[str, Any], texts: Mapping[str, Any]) -> CheckedDocument:
        values = {name: row[name] for name in _DOCUMENT_COLUMNS}
        outlinks = [Outlink(**link) for link in row["outlinks"]]
        metadata = dict(row["metadata"])
        fields = explained_fields(metadata) or suspected_rules(
            self._field_rules, row["url"], row["status"]
        )
        metadata.pop(EXPLAINED_KEY, None)
        rules = self._plan.outlinks
        if is_link_list(metadata):
            rules = replace(rules, max_per_page=-1)
        links = checked_links(row["url"], outlinks, rules, self._exempts)
        return CheckedDocument(
            **values,
            metadata=metadata,
            fields=fields,
            text=texts.get("text", ""),
            main_text=texts.get("main_text"),
            links=links,
        )

    def _exempts(self, source: str, target: str) -> bool:
        for _, plugin in self._exemptions:
            with suppress(Exception):  # one that fails has no say
                if plugin.exempts(source, target):
                    return True
        return False


def suspected_rules(rules: FieldRules, url: str, status: str) -> tuple[ExplainedField, ...]:
    """Of a page at which the parser ended: the rules of fields that were for it. An expression may
    take as long as it likes, and nobody else says so."""
    names = dict.fromkeys(rule.name for rule in rules.rules_for(url))
    if not names or status not in _TOO_COSTLY:
        return ()
    which = f"rule {next(iter(names))} is" if len(names) == 1 else f"rules {', '.join(names)} are"
    without = f"-D {PARSEFILTER_ORDER.name}=language"
    problem = f"{which} for this URL, which may be why: try it without fields ({without})"
    return (ExplainedField("*", "", "", (), False, problem),)


_DOCUMENT_COLUMNS = tuple(
    name for name in PARSE_DATA.names if name not in ("outlinks", "metadata", "fetch_time")
)


def checked_links(
    page: str,
    links: Sequence[Outlink],
    rules: OutlinkRules,
    exempts: Callable[[str, str], bool] = lambda source, target: False,
) -> tuple[CheckedLink, ...]:
    """What the rules make of the links of a page, in their order."""
    links_kept = keep_links([(page, links)], rules, Counters(), exempts)
    kept_as = dict(zip(links_kept.position.tolist(), links_kept.urls.to_pylist(), strict=True))
    targets = set(kept_as.values())

    def reason_of(link: Outlink) -> str:
        """Asks the rules about this link alone; what they would keep then is one too many."""
        dropped = Counters()
        alone = keep_links([(page, [link])], replace(rules, max_per_page=1), dropped, exempts)
        if len(alone.urls):
            return "duplicate" if alone.urls[0].as_py() in targets else "limit"
        reasons = (name.removeprefix(_DROPPED) for name in dropped if name.startswith(_DROPPED))
        return next(reasons, "?")

    checked: list[CheckedLink] = []
    asked = 0
    for place, link in enumerate(links):
        if place in kept_as:
            checked.append(CheckedLink(link, kept_as[place]))
            continue
        asked += 1
        reason = "?" if asked > _MAX_REASONS else reason_of(link)
        detail = _filter_of(link, rules) if reason == "filtered" else ""
        checked.append(CheckedLink(link, reason=reason, detail=detail))
    return tuple(checked)


def _filter_of(link: Outlink, rules: OutlinkRules) -> str:
    url = link.url if rules.normalizers is None else rules.normalizers.normalize(link.url)
    rejection = rules.filters.rejection(url) if rules.filters is not None and url else None
    return ": ".join(rejection) if rejection is not None else ""
