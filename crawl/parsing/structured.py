"""Structured data of a page as its parse has kept it: JSON-LD, microdata, OpenGraph.

Pages write JSON as they like; what is handed on is valid JSON of objects: of keys that are repeated
the last counts, numbers that no float holds are null, and what is nested too deeply is left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from crawl.parsing.html.metadata import OPENGRAPH_PREFIXES
from crawl.parsing.html.microdata import METADATA_KEY as MICRODATA_KEY
from crawl.parsing.text.plain import storable

_JSON_LD_KEY = "json-ld"
_OPENGRAPH_KEY = "opengraph"
_MAX_ITEMS = 500
_MAX_TYPES = 50
_MAX_OBJECTS = 2_000


def json_ld_items(metadata: Mapping[str, str]) -> list[dict[str, Any]]:
    """The objects of the page's JSON-LD: of a script that is a list, each of its objects."""
    objects: list[dict[str, Any]] = []
    waiting = [_loaded(metadata.get(_JSON_LD_KEY))]
    while waiting and len(objects) < _MAX_ITEMS:
        thing = waiting.pop()
        if isinstance(thing, dict):
            objects.append(thing)
        elif isinstance(thing, list):
            waiting.extend(reversed(thing))
    return objects


def microdata_items(metadata: Mapping[str, str]) -> list[dict[str, Any]]:
    """The page's top-level items: `{"type": […], "properties": {"name": […]}}`."""
    items = _loaded(metadata.get(MICRODATA_KEY))
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def opengraph(metadata: Mapping[str, str]) -> dict[str, list[str]]:
    """The page's OpenGraph properties, in its order, each with all its values."""
    repeated = _loaded(metadata.get(_OPENGRAPH_KEY))
    lists = repeated if isinstance(repeated, dict) else {}
    return {
        name: [storable(str(each)) for each in lists.get(name, [value])]
        for name, value in metadata.items()
        if name.startswith(OPENGRAPH_PREFIXES)
    }


def schema_types(metadata: Mapping[str, str]) -> list[str]:
    """The types of things that the page describes, by JSON-LD and microdata, without the address of
    their vocabulary: `Product`."""
    names: dict[str, None] = {}
    things: list[Any] = [*json_ld_items(metadata), *microdata_items(metadata)]
    for thing in things:  # grows
        if isinstance(thing, dict):
            types = thing.get("@type", thing.get("type"))
            for kind in types if isinstance(types, list) else [types]:
                if isinstance(kind, str) and (name := _short(kind)):
                    names[name] = None
        inner = thing.values() if isinstance(thing, dict) else thing
        if len(things) < _MAX_OBJECTS:
            things.extend(each for each in inner if isinstance(each, dict | list))
    return list(names)[:_MAX_TYPES]


def as_json(thing: Mapping[str, Any]) -> str | None:
    """Valid JSON on one line; None where it is nested too deeply to be written."""
    try:
        return storable(json.dumps(thing, ensure_ascii=False, separators=(",", ":")))
    except (ValueError, RecursionError):
        return None


def _loaded(text: str | None) -> Any:
    if not text:
        return None
    try:
        return json.loads(text, parse_float=_finite, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _short(kind: str) -> str:
    name = kind[:300].strip().rstrip("/").rpartition("/")[2].rpartition("#")[2].rpartition(":")[2]
    return name if name and name.isascii() and name.isprintable() and " " not in name else ""
