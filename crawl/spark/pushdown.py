"""Conditions on a crawl's files, from the filters that Spark pushes down and from JSON.

Only filters that mean the same on both sides are translated; Spark applies the others itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from crawl.errors import UsageError
from crawl.model.status import Status
from crawl.model.table import Table
from crawl.storage.scan import Condition, require_condition

_SIGNS = {
    "EqualTo": "=",
    "EqualNullSafe": "=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "In": "in",
    "IsNull": "is",
    "IsNotNull": "is not",
    "StringStartsWith": "startswith",
}
"""By the names of Spark's classes: Spark 4.0 has none of them, and needs none."""

_LABELS = frozenset(status.label for status in Status)


def condition_of(pushed: Any, types: Mapping[str, pa.DataType]) -> Condition | None:
    """The condition of a `pyspark.sql.datasource.Filter`; None where it cannot be taken on.

    Spark holds NaN to be equal to itself and greater than all numbers, Arrow does not: of a
    column of fractions only filters that NaN satisfies on neither side are translated.
    """
    sign = _SIGNS.get(type(pushed).__name__)
    if sign is None or len(pushed.attribute) != 1 or pushed.attribute[0] not in types:
        return None
    column: str = pushed.attribute[0]
    kind = types[column]
    if sign in ("is", "is not"):
        return column, sign, None
    if pa.types.is_floating(kind) and sign not in ("=", "<", "<="):
        return None
    value = pushed.value
    values = [each for each in value if each is not None] if sign == "in" else [value]
    if not all(_is_of(each, kind) for each in values):
        return None
    if column == "status" and not _LABELS.issuperset(values) and sign in ("=", "in"):
        return None  # a name that no status has is a mistake elsewhere, in SQL it is no row
    return column, sign, values if sign == "in" else value


def conditions_of(text: str, table: Table) -> tuple[Condition, ...]:
    """The conditions of a JSON text such as `[["status", "=", "db_gone"]]`."""
    try:
        triples = [tuple(each) for each in json.loads(text)]
    except (ValueError, TypeError, RecursionError) as error:
        example = '[["status", "=", "db_gone"]]'
        raise UsageError(f"where {text!r} is no JSON list such as {example}") from error
    types = {column.name: column.type for column in table.columns}
    conditions = []
    for triple in triples:
        if len(triple) != 3:
            raise UsageError(f"{list(triple)!r} is no condition: give [column, operator, value]")
        column, sign, value = triple
        require_condition(triple, types, table.name)
        conditions.append((column, sign, _typed_value(value, sign, types[column])))
    return tuple(conditions)


def _typed_value(value: Any, sign: str, kind: pa.DataType) -> Any:
    """The value as the column has such; JSON writes moments as text."""
    if sign in ("is", "is not"):
        return None
    if sign == "in":
        if not isinstance(value, list):
            raise UsageError(f"in {value!r}: give a list of values")
        return [_typed_value(each, "=", kind) for each in value]
    moment = _moment(value, kind)
    if not _is_of(moment, kind):
        raise UsageError(f"{value!r} cannot be compared with a column of type {kind}")
    return moment


def _moment(value: Any, kind: pa.DataType) -> Any:
    if not isinstance(value, str) or not pa.types.is_timestamp(kind):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _is_of(value: Any, kind: pa.DataType) -> bool:
    """Whether the value can be compared with a column of that type."""
    match value:
        case bool():
            return pa.types.is_boolean(kind)
        case str():
            return pa.types.is_string(kind)
        case bytes():
            return pa.types.is_binary(kind)
        case int():
            return pa.types.is_integer(kind) or pa.types.is_floating(kind)
        case float():
            return pa.types.is_floating(kind) and not math.isnan(value)
        case datetime():
            return pa.types.is_timestamp(kind) and value.tzinfo is not None
    return False
