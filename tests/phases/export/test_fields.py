"""Fields of rules, from a parse into an export and an index."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from crawl.config import Config
from crawl.phases.parse import run as parse
from crawl.phases.parse.options import ParseOptions
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.exported import ExportedCrawl
from tests.phases.indexed import Page
from tests.phases.made import NOW

A, B, C = (f"http://{host}/" for host in ("a.com", "b.com", "c.com"))
RULES = """
[[rule]]
hosts = ["a.com", "b.com"]
[rule.fields.price]
css = ".price"
kind = "number"
[rule.fields.day]
css = "time"
kind = "date"
[rule.fields.tags]
css = "li"
list = true
"""
WORDS = "These are some words about a thing that can be bought in a shop."


class FieldsCrawl(ExportedCrawl):
    rules = RULES

    @property
    def config(self) -> Config:
        return Config.of(self.settings, {"fields.toml": self.rules})


def shop_crawl(folder: Path) -> FieldsCrawl:
    crawl = FieldsCrawl(folder)
    crawl.round(
        {
            A: Page(f"{WORDS}<b class=price>12.50</b><time>18 Nov 2026</time><li>x<li>y"),
            B: Page(f"{WORDS} Another one.<b class=price>ask us</b>"),
            C: Page(f"{WORDS} Elsewhere.<b class=price>1</b>"),
        }
    )
    return crawl


def test_a_field_is_a_typed_column(tmp_path: Path) -> None:
    crawl = shop_crawl(tmp_path)
    done = crawl.export("out", "parquet")
    assert done.remarks == () and done.report.counters["fields.pages"] == 1
    (path,) = sorted((Path(crawl.place("out")) / "data").glob("*.parquet"))[:1]
    schema = pq.read_schema(path)
    assert schema.field("field_price").type == pa.float64()
    assert schema.field("field_day").type == pa.date32()
    assert schema.field("field_tags").type == pa.list_(pa.string())
    table = pq.read_table(path.parent)
    dear = table.filter(pc.field("field_price") > 12)
    assert dear["url"].to_pylist() == [A]
    assert dear["field_day"].to_pylist() == [date(2026, 11, 18)]
    assert dear["field_tags"].to_pylist() == [["x", "y"]]
    crawl.export("lines", "jsonl")
    records = crawl.records("lines")
    assert records[A]["field_price"] == 12.5 and records[A]["field_day"] == "2026-11-18"
    assert "field_price" not in records[B]
    crawl.export("files", "markdown")
    (page,) = (Path(crawl.place("files")) / "data" / "a.com").glob("*.md")
    front = yaml.safe_load(page.read_text().split("---")[1])
    assert (front["field_price"], front["field_tags"]) == (12.5, ["x", "y"])


def test_a_field_is_indexed(tmp_path: Path) -> None:
    crawl = shop_crawl(tmp_path)
    crawl.index()
    documents = crawl.documents("jsonl")
    assert documents[A]["price"] == 12.5
    assert documents[A]["day"] == "2026-11-18"
    assert documents[A]["tags"] == ["x", "y"]
    assert "price" not in documents[B]


def test_rules_that_came_after_the_parse_are_told(tmp_path: Path) -> None:
    crawl = shop_crawl(tmp_path)
    crawl.rules = RULES.replace('css = ".price"\nkind = "number"', 'css = "i"\nkind = "date"')
    done = crawl.export("dates", "parquet")
    assert done.report.counters["fields.of_other_rules.price"] == 1
    assert "1 values of fields are not of the kind" in done.remarks[0]
    crawl.rules = RULES.replace("fields.", "fields.new_")
    (told,) = crawl.export("new").remarks
    assert told.startswith("no page has a field of fields.toml") and "parsed again" in told
    crawl.rules = RULES + "".join(f"[rule.fields.new_{n}]\ncss = 'i'\n" for n in range(7))
    (told,) = crawl.export("more").remarks
    assert told.startswith(
        "no page has a value of field_new_0, field_new_1, field_new_2, field_new_3, field_new_4"
        " and 2 more: if these rules came after the parse, `crawl parse "
    )
    crawl.rules = ""
    assert crawl.export("none").remarks == ()


def test_a_segment_that_is_parsed_again_says_what_has_the_old_parse(tmp_path: Path) -> None:
    crawl = shop_crawl(tmp_path)
    (name,) = (segment.name for segment in crawl.crawl_dir.segments.generated())

    def parse_again() -> tuple[str, ...]:
        options = ParseOptions(name, reparse=True)
        return parse.run(
            InProcess(), crawl.crawl_dir, crawl.config, options, ManualClock(NOW)
        ).remarks

    assert parse_again() == ()
    crawl.index()
    crawl.rules = RULES.replace("fields.day", "fields.sold")
    (told,) = parse_again()
    assert told.startswith("what was made of the parse before stays") and f"{name}`" in told
    assert "sold" not in crawl.documents("jsonl")[A]
    crawl.index(name)
    assert crawl.documents("jsonl")[A]["sold"] == "2026-11-18"


def test_structured_data_are_columns(tmp_path: Path) -> None:
    crawl = FieldsCrawl(tmp_path)
    head = (
        '<script type="application/ld+json">[{"@type":"Product","name":"Chair"}]</script>'
        "<meta property=og:image content=a><meta property=og:image content=b>"
    )
    item = "<div itemscope itemtype=https://schema.org/Offer><b itemprop=price>12</b></div>"
    crawl.round({A: Page(WORDS + item, head), B: Page(f"{WORDS} Another one.")})
    for format, text in (("parquet", "main"), ("parquet", "full"), ("jsonl", "full")):
        crawl.export("out", format, text, overwrite=True)
        found = crawl.records("out")[A]
        assert json.loads(found["jsonld"][0]) == {"@type": "Product", "name": "Chair"}
        assert json.loads(found["microdata"][0])["properties"] == {"price": ["12"]}
        assert dict(found["opengraph"]) == {"og:image": ["a", "b"]}
        assert found["schema_types"] == ["Product", "Offer"]
        assert crawl.records("out")[B].get("jsonld") is None
    crawl.export("chunks", "jsonl", chunk=40)
    chunks = crawl.records("chunks")
    assert "jsonld" in chunks[f"{A}#chunk=0"] and "jsonld" not in chunks[f"{A}#chunk=1"]
