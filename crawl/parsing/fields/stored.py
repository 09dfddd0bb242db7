"""Fields in the metadata of a parse: `field.price` is the value as text, or, of a list, a JSON
array of texts. Types are the rules': whoever reads a column asks them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from crawl.parsing.fields.extraction import FieldOutcome, texts_of
from crawl.parsing.fields.kinds import FieldValue, from_text
from crawl.parsing.fields.rules import METADATA_PREFIX, FieldColumn

EXPLAINED_KEY = "fields.explained"
_MAX_CHARACTERS = 200_000
"""Of all fields of a page together."""
_CROWDED = f"the page's fields together are longer than {_MAX_CHARACTERS:,} characters"


def to_metadata(results: Sequence[FieldOutcome]) -> tuple[dict[str, str], list[str]]:
    """The metadata of a page's fields, and the names of those for which there was no room."""
    metadata: dict[str, str] = {}
    crowded: list[str] = []
    room = _MAX_CHARACTERS
    for each in results:
        if not each.values:
            continue
        texts = texts_of(each)
        stored = json.dumps(texts, ensure_ascii=False) if each.is_list else texts[0]
        if len(stored) > room:
            crowded.append(each.name)
            continue
        room -= len(stored)
        metadata[METADATA_PREFIX + each.name] = stored
    return metadata, crowded


@dataclass(frozen=True, slots=True)
class ExplainedField:
    """What became of a field of a page, for people."""

    name: str
    rule: str
    kind: str
    values: tuple[str, ...]
    is_default: bool
    problem: str
    """Why there is no value, or fewer than were found."""


def explanation(results: Sequence[FieldOutcome], crowded: Sequence[str]) -> str:
    """What became of each field, as metadata keep it."""
    return _explained(
        ExplainedField(
            *(each.name, each.rule, each.kind.value),
            () if each.name in crowded else tuple(texts_of(each)),
            each.is_default,
            _CROWDED if each.name in crowded else each.problem,
        )
        for each in results
    )


def _explained(fields: Iterable[ExplainedField]) -> str:
    return json.dumps([asdict(each) for each in fields], ensure_ascii=False)


_NO_RULE = "no rule of parsefilter.fields.file is for this URL"
NO_RULE = _explained([ExplainedField("*", "", "", (), False, _NO_RULE)])
"""The explanation of a page that no rule is for."""


def explained_fields(metadata: Mapping[str, str]) -> tuple[ExplainedField, ...]:
    """What `explanation` wrote."""
    return tuple(
        ExplainedField(**{**each, "values": tuple(each["values"])})
        for each in json.loads(metadata.get(EXPLAINED_KEY, "[]"))
    )


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
