"""parsefilter fields: what rules take from pages of certain hosts, as metadata `field.<name>`.

It is on by default and does nothing while the rule file is empty."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from crawl.config import Config
from crawl.interfaces.page import Page
from crawl.interfaces.parsefilter import ParseFilter
from crawl.model.parse import Parse
from crawl.parsing.fields.extraction import counted, outcomes
from crawl.parsing.fields.rule_file import EXPLAIN, field_rules
from crawl.parsing.fields.stored import EXPLAINED_KEY, NO_RULE, explanation, to_metadata
from crawl.parsing.html.scan import HTML_TYPES


class FieldsParseFilter(ParseFilter):
    """Asks the rules that are for the page's host and path."""

    def __init__(self, config: Config) -> None:
        self._rules = field_rules(config)
        self._explain = config[EXPLAIN]

    def filter(self, page: Page, parse: Parse) -> Parse:
        # what is inside a page is not what its fields are about
        if not self._rules or page.mime_type not in HTML_TYPES or parse.url != page.url:
            return parse
        rules = self._rules.rules_for(page.url)
        if not rules:
            if not self._explain:
                return parse
            return replace(parse, metadata={**parse.metadata, EXPLAINED_KEY: NO_RULE})
        results = outcomes(rules, page)
        metadata, crowded = to_metadata(results)
        counts = Counter(dict(parse.counts))
        for name, count in counted(rules, results):
            counts[name] += count
        for name in crowded:
            counts[f"fields.no_room.{name}"] += 1
        if self._explain:
            metadata[EXPLAINED_KEY] = explanation(results, crowded)
        return replace(parse, metadata={**parse.metadata, **metadata}, counts=dict(counts))
