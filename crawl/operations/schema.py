"""An operation as JSON Schema: what may be asked, and what comes out."""

from __future__ import annotations

from typing import Any

import msgspec

from crawl.operations.operation import Operation
from crawl.operations.options import fields_of


def schema_of(operation: Operation) -> dict[str, Any]:
    """The schemas of options and result, with what both name in `$defs`."""
    (options, result), defs = msgspec.json.schema_components(
        (operation.options, operation.result),
        schema_hook=_schema_of_others,
        ref_template="#/$defs/{name}",
    )
    for field in fields_of(operation.options):
        if field.is_negated:
            declared = defs[operation.options.__name__]["properties"][field.name]
            declared["description"] = f"If it is false: {field.help}"
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": operation.name,
        "properties": {"options": options, "result": result},
        "$defs": defs,
    }


def _schema_of_others(kind: type) -> dict[str, Any]:
    """What msgspec does not know: values that JSON shows as texts or objects."""
    if issubclass(kind, dict):
        return {"type": "object"}
    raise NotImplementedError
