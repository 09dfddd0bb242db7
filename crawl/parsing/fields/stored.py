"""Fields in the metadata of a parse: `field.price` is the value as text, or, of a list, a JSON
array of texts. Types are the rules': whoever reads a column asks them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from crawl.parsing.fields.extraction import FieldOutcome, texts_of
from crawl.parsing.fields.kinds import FieldValue, from_text
from crawl.parsing.fields.rules import METADATA_PREFIX, FieldColumn

EXPLAINED_KEY = "fields.explained"
_MOST_CHARACTERS = 200_000
"""Of all fields of a page together."""


def to_metadata(found: Sequence[FieldOutcome]) -> tuple[dict[str, str], list[str]]:
    """The metadata of a page's fields, and the names of those for which there was no room."""
    metadata: dict[str, str] = {}
    crowded: list[str] = []
    left = _MOST_CHARACTERS
    for each in found:
        if not each.values:
            continue
        texts = texts_of(each)
        stored = json.dumps(texts, ensure_ascii=False) if each.is_list else texts[0]
        if len(stored) > left:
            crowded.append(each.name)
            continue
        left -= len(stored)
        metadata[METADATA_PREFIX + each.name] = stored
    return metadata, crowded


def value_of(
    metadata: Mapping[str, str], field: FieldColumn
) -> FieldValue | list[FieldValue] | None:
    """The typed value of a field; None where the page has none. Raises ValueError where what is
    stored is no such value, because the rules were others when the page was parsed."""
    stored = metadata.get(field.metadata_key)
    if stored is None:
        return None
    values = [from_text(text, field.kind) for text in _texts(stored, is_list=field.is_list)]
    if any(value is None for value in values):
        raise ValueError(f"{field.name}: {stored[:60]!r} is no {field.kind.value}")
    typed = [value for value in values if value is not None]
    return typed if field.is_list else typed[0]


def _texts(stored: str, *, is_list: bool) -> list[str]:
    if not is_list:
        return [stored]
    try:
        texts = json.loads(stored)
    except (ValueError, RecursionError):
        texts = None
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return [stored]  # it was one value when the page was parsed
    return texts
