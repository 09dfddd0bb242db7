"""What the pipeline makes of its plugins' answers, good and bad ones."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import pyarrow.compute as pc
import pytest

from crawl.config import Config
from crawl.errors import ConfigError, PluginError
from crawl.interfaces.page import Page
from crawl.interfaces.parsefilter import ParseFilter
from crawl.interfaces.parser import Parser
from crawl.interfaces.scoring import ScoringFilter, Target
from crawl.interfaces.signature import Signature
from crawl.model.content import Content
from crawl.model.parse import Parse, ParseStatus
from crawl.model.records import to_records
from crawl.model.status import Status
from crawl.parsing.plan import ParsePlan
from tests.parsing.small_parsers import HERE as SMALL
from tests.parsing.small_parsers import URL, content, only_row, parse_batch, parsed, plan, settings

HERE = __name__


class Half(Parser):
    """Gives texts that cannot be stored as they are."""

    mime_types: ClassVar[tuple[str, ...]] = ("text/plain",)

    def __init__(self, config: Config) -> None:
        pass

    def parse(self, page: Page) -> Sequence[Parse]:
        return [Parse(page.url, title="\ud800x", metadata={"k\udfff": "v\ud800", "n": 3})]  # type: ignore[dict-item]


def test_texts_that_have_no_bytes_are_mended() -> None:
    row = only_row(parsed(plugin__parser=[f"{HERE}:Half"]))
    assert row["title"] == "?x"
    assert row["metadata"] == [("k?", "v?"), ("n", "3")]


class Refusing(Half):
    def parse(self, page: Page) -> Sequence[Parse]:
        return None  # type: ignore[return-value]


class Failing(Half):
    mime_types: ClassVar[tuple[str, ...]] = ("*/*",)

    def parse(self, page: Page) -> Sequence[Parse]:
        return [Parse(page.url, ParseStatus.INVALID_FORMAT, "not mine")]


class Wrong(Half):
    def parse(self, page: Page) -> Sequence[Parse]:
        return [Parse(page.url, title=b"bytes")]  # type: ignore[arg-type]


class AnyText(Half):
    mime_types: ClassVar[tuple[str, ...]] = ("text/*",)

    def parse(self, page: Page) -> Sequence[Parse]:
        return [Parse(page.url, title="any text")]


def _named(*names: str) -> list[str]:
    return [f"{HERE}:{name}" for name in names]


def test_the_next_parser_is_asked_where_one_cannot() -> None:
    line = f"{SMALL}:LineParser"
    for names in (_named("Refusing"), _named("Wrong"), _named("Failing", "Refusing", "Wrong")):
        assert only_row(parsed("title T", plugin__parser=[*names, line]))["title"] == "T"
    failed = only_row(parsed(plugin__parser=_named("Refusing", "Failing")))
    assert (failed["status"], failed["message"]) == ("failed_invalid_format", "not mine")
    failed = only_row(parsed(plugin__parser=_named("Refusing")))
    assert failed["message"] == "no parser reads text/plain"


def test_parsers_that_name_the_type_come_first() -> None:
    line = f"{SMALL}:LineParser"
    found = parsed("title T", plugin__parser=[*_named("Failing", "AnyText"), line])
    assert only_row(found)["title"] == "T"
    css = content(URL, content_type="text/css")
    batch = parse_batch(plan(plugin__parser=[line, *_named("Failing", "AnyText")]), [css])
    assert only_row(batch)["title"] == "any text"


def test_a_file_says_which_parser_reads_a_type() -> None:
    line, other = f"{SMALL}:LineParser", f"{HERE}:AnyText"
    files = {"parse-plugins.txt": f"# the order is another\ntext/plain\t{other} {line}\n"}
    made = settings(plugin__parser=[line, other])
    plain = ParsePlan.from_config(Config.of(made, files))
    assert only_row(parse_batch(plain, [content(URL, "title T")]))["title"] == "any text"
    for text, message in (("text/plain", "which parsers"), ("* nobody", "'nobody' is not among")):
        with pytest.raises(ConfigError, match=f"parse-plugins.txt:1: .*{message}"):
            ParsePlan.from_config(Config.of(made, {"parse-plugins.txt": text}))


class Upper(ParseFilter):
    def __init__(self, config: Config) -> None:
        pass

    def filter(self, page: Page, parse: Parse) -> Parse:
        return replace(parse, title=parse.title.upper())


class Raising(Upper):
    def filter(self, page: Page, parse: Parse) -> Parse:
        raise ValueError


def test_parse_filters_add_and_may_fail() -> None:
    batch = parsed("title t", parsefilter__order=_named("Raising", "Upper"))
    assert only_row(batch)["title"] == "T"
    assert batch.counters[f"plugin_errors.parsefilter.{HERE}:Raising"] == 1


class NoSignature(Signature):
    def __init__(self, config: Config) -> None:
        pass

    def calculate(self, content: Content, parse: Parse | None) -> bytes:
        raise ValueError


def test_a_signature_that_fails_is_none() -> None:
    batch = parsed("title t", db__signature__class=f"{HERE}:NoSignature")
    assert only_row(batch)["signature"] is None
    assert batch.crawl_parse.num_rows == 0


class Sharing(ScoringFilter):
    def __init__(self, config: Config) -> None:
        pass

    def after_parse(self, url: str, content: Content, parse: Parse) -> Parse:
        return replace(parse, metadata={**parse.metadata, **content.metadata})

    def distribute(
        self, parse: Parse, content: Content, targets: Sequence[Target], all_count: int
    ) -> Sequence[Target]:
        shares = [
            (url, replace(datum, score=len(targets) / all_count, metadata={"from": parse.url}))
            for url, datum in targets
        ]
        return [share for share in shares if "left-out" not in share[0]]


def test_scoring_shares_out_to_the_links_that_were_kept() -> None:
    pages = [
        content(URL, "link http://b.org/left-out", "link http://b.org/1", "link mailto:x"),
        content("http://a.org/2", metadata={"k": "v"}),
        content("http://a.org/3", "link http://b.org/3"),
    ]
    batch = parse_batch(plan(scoring__filter__order=_named("Sharing")), pages)
    links = {
        url: datum for url, datum in to_records(batch.crawl_parse) if datum.status is Status.LINKED
    }
    assert list(links) == ["http://b.org/1", "http://b.org/3"]
    assert batch.counters["outlinks_withheld_by_scoring"] == 1
    assert links["http://b.org/1"].score == pytest.approx(2 / 3)
    assert links["http://b.org/1"].metadata == {"from": URL}
    assert links["http://b.org/3"].metadata == {"from": "http://a.org/3"}
    assert pc.list_value_length(batch.parse_data["outlinks"]).to_pylist() == [2, 0, 1]
    assert batch.parse_data["metadata"].to_pylist()[1] == [("k", "v")]


def test_a_plan_travels() -> None:
    made = plan(scoring__filter__order=_named("Sharing"))
    page = content(URL, "title T", "link http://b.org/")
    here = parse_batch(made, [page])
    there = parse_batch(pickle.loads(pickle.dumps(made)), [page])
    assert there.crawl_parse.equals(here.crawl_parse)


def test_what_cannot_be_is_reported_when_the_plan_is_made() -> None:
    with pytest.raises(PluginError, match="no signature plugin is called 'md6'"):
        plan(db__signature__class="md6")
    with pytest.raises(ConfigError, match="no charset"):
        plan(parser__character__encoding__default="klingon")


def test_external_links_may_be_exempt() -> None:
    made = settings(db__ignore__external__links=True, urlexemption__order=["ignoreexempt"])
    files = {"db-ignore-external-exemptions.txt": "+\\.css$\n"}
    plain = ParsePlan.from_config(Config.of(made, files))
    page = content(URL, "link http://b.org/x.css", "link http://b.org/x")
    assert [link["url"] for link in only_row(parse_batch(plain, [page]))["outlinks"]] == [
        "http://b.org/x.css"
    ]
