"""indexingfilter fields: what the rules of fields have taken from a page, by the rules' names."""

from __future__ import annotations

from crawl.config import Config
from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.documents import FieldValue, IndexDocument
from crawl.parsing.fields.kinds import FieldValue as StoredValue
from crawl.parsing.fields.kinds import as_text
from crawl.parsing.fields.rule_file import FILE, field_rules
from crawl.parsing.fields.stored import value_of


class FieldsIndexingFilter(IndexingFilter):
    """Numbers stay numbers; dates are text by ISO 8601, and lists are lists of texts."""

    properties = (FILE,)

    def __init__(self, config: Config) -> None:
        self._columns = field_rules(config).columns()

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument:
        for field in self._columns:
            try:
                value = value_of(page.parse.metadata, field)
            except ValueError:  # the rules were others when the page was parsed
                document.fields[field.name] = page.parse.metadata[field.metadata_key]
                continue
            if value is not None:
                document.fields[field.name] = _indexed(value)
        return document


def _indexed(value: StoredValue | list[StoredValue]) -> FieldValue:
    if isinstance(value, list):
        return [as_text(each) for each in value]
    if isinstance(value, str | bool | int | float):
        return value
    return as_text(value)
