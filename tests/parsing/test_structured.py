from __future__ import annotations

import json

import pytest

from crawl.parsing.structured import as_json, json_ld_items, opengraph, schema_types


def test_objects_of_lists_and_scripts_stand_side_by_side() -> None:
    text = '[{"@type":"A"},[{"@type":"schema:B"},[{"@type":["http://schema.org/C"]}],7]]'
    metadata = {"json-ld": text}
    assert [thing["@type"] for thing in json_ld_items(metadata)] == [
        *("A", "schema:B", ["http://schema.org/C"]),
    ]
    assert schema_types(metadata) == ["A", "B", "C"]


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": 1e999, "b": NaN, "a": 2}]',
        '[{"a": "\\ud800 \\u0000"}]',
        "[" * 50_000,
        '{"a":' * 5_000,
        f"[{','.join('1' * 30_000)}]",
        "[{}]" * 3,
        '{"a": ' + "9" * 5_000 + "}",
    ],
)
def test_hostile_json_is_valid_json_or_nothing(text: str) -> None:
    for thing in json_ld_items({"json-ld": text}):
        written = as_json(thing)
        assert written is not None
        written.encode()
        json.loads(written, parse_constant=pytest.fail)


def test_opengraph_has_all_values_of_a_property() -> None:
    metadata = {
        "og:title": "T",
        "og:image": "a",
        "twitter:card": "x",
        "article:tag": "u",
        "opengraph": '{"og:image": ["a", "b"]}',
    }
    assert opengraph(metadata) == {"og:title": ["T"], "og:image": ["a", "b"], "article:tag": ["u"]}
    assert opengraph({"og:title": "T", "opengraph": "{"}) == {"og:title": ["T"]}
