from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

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
from crawl.model.tables import CRAWL_PARSE, PARSE_DATA, PARSE_TEXT
from crawl.parsing.document import ParsedBatch
from crawl.parsing.pipeline import ParsePlan, parse_batch
from tests.parsing.small_parsers import HERE as SMALL
from tests.parsing.small_parsers import NOW, content, plan, settings

HERE = __name__
URL = "http://a.org/page"


def parsed(*lines: str, **changes: Any) -> ParsedBatch:
    return parse_batch(plan(**changes), [content(URL, *lines)])


def only(batch: ParsedBatch) -> dict[str, Any]:
    (row,) = batch.parse_data.to_pylist()
    return dict(row)


def told(batch: ParsedBatch) -> list[tuple[str, Status]]:
    return [(url, datum.status) for url, datum in to_records(batch.crawl_parse)]


def test_a_page_becomes_rows_of_three_tables() -> None:
    batch = parsed("title T", "text Hello", "link http://b.org/ B", "meta key value")
    assert batch.parse_data.schema.equals(PARSE_DATA.schema)
    assert batch.parse_text.schema.equals(PARSE_TEXT.schema)
    assert batch.crawl_parse.schema.equals(CRAWL_PARSE.schema)
    row = only(batch)
    assert (row["status"], row["title"], row["mime_type"]) == ("success", "T", "text/plain")
    assert row["charset"] == "utf-8"
    assert row["metadata"] == [("key", "value")]
    assert row["outlinks"] == [{"url": "http://b.org/", "anchor": "B", "rel": "", "tag": "a"}]
    assert len(row["signature"]) == 16
    assert batch.parse_text.to_pylist() == [{"url": URL, "text": "Hello", "main_text": None}]
    assert told(batch) == [(URL, Status.SIGNATURE), ("http://b.org/", Status.LINKED)]
    assert batch.crawl_parse["host"].to_pylist() == ["a.org", "b.org"]
    (_, _), (_, link) = to_records(batch.crawl_parse)
    assert (link.fetch_time, link.fetch_interval, link.score) == (NOW, 2_592_000, 0.0)


def test_no_pages_no_rows() -> None:
    batch = parse_batch(plan(), [])
    assert batch.parse_data.num_rows == batch.crawl_parse.num_rows == 0
    assert batch.parse_data.schema.equals(PARSE_DATA.schema)


def test_only_pages_that_were_fetched_well_are_parsed() -> None:
    gone = content(URL, status=int(Status.FETCH_GONE))
    batch = parse_batch(plan(), [gone, content(URL, status=0)])
    assert batch.parse_data.num_rows == 0
    assert batch.counters == {"pages": 2, "skipped.not_success": 2}


def test_what_is_not_whole_is_recorded_and_parsed_only_if_wanted() -> None:
    page = content(URL, "title T", truncated="length")
    batch = parse_batch(plan(), [page])
    assert only(batch)["status"] == "failed_truncated"
    assert "length" in only(batch)["message"]
    assert told(batch) == [(URL, Status.SIGNATURE)]
    parsed = parse_batch(plan(parser__skip__truncated=False), [page])
    assert only(parsed)["title"] == "T"
    assert batch.counters["truncated.length"] == parsed.counters["truncated.length"] == 1


@pytest.mark.parametrize(
    ("deed", "status", "message"),
    [
        ("do raise value", "failed_exception", "ValueError: value then"),
        ("do raise exit", "failed_exception", "SystemExit: exit then"),
        ("do raise memory", "failed_memory", "the parser wanted more memory than it may have"),
        ("do recurse x", "failed_exception", "RecursionError"),
        ("fail failed_invalid_format no such thing", "failed_invalid_format", "no such thing"),
    ],
)
def test_a_page_that_cannot_be_parsed_is_recorded(deed: str, status: str, message: str) -> None:
    batch = parsed("title T", "link http://b.org/", deed)
    row = only(batch)
    assert row["status"] == status
    assert row["message"].startswith(message)
    assert (row["title"], row["outlinks"]) == ("", [])
    assert batch.parse_text.num_rows == 0
    ((url, failed),) = to_records(batch.crawl_parse)
    assert (url, failed.status) == (URL, Status.PARSE_FAILED)
    assert failed.metadata == {"_parse_status_": status}
    assert failed.signature == row["signature"] is not None


def test_a_failure_s_message_is_one_short_line() -> None:
    message = only(parsed("fail failed_exception " + "long \t" * 1000))["message"]
    assert "\t" not in message and len(message) <= 300


def test_directives_are_obeyed_after_the_signature_is_taken() -> None:
    plain = parsed("title T", "text x", "link http://b.org/")
    page = content(URL, "title T", "text x", "link http://b.org/")
    asked = replace(page, headers={"x-robots-tag": "noindex, otherbot: nofollow"})
    row = only(batch := parse_batch(plan(), [asked]))
    assert (row["title"], batch.parse_text["text"].to_pylist()) == ("", [""])
    assert row["directives"] == "noindex"
    assert len(row["outlinks"]) == 1
    assert row["signature"] == only(plain)["signature"]
    assert batch.counters["directives.noindex"] == 1


def test_a_page_that_says_nofollow_has_no_links() -> None:
    batch = parsed("robots nofollow noarchive", "link http://b.org/", "link http://b.org/2")
    assert only(batch)["outlinks"] == []
    assert told(batch) == [(URL, Status.SIGNATURE)]
    assert batch.counters["outlinks_dropped.page_nofollow"] == 2
    assert only(batch)["metadata"] == [("caching.forbidden", "content")]


def test_the_link_header_names_a_canonical_url() -> None:
    page = content(URL, headers={"link": '</real>; rel="canonical"'})
    assert only(parse_batch(plan(), [page]))["canonical"] == "http://a.org/real"
    feed = replace(page, body=b"document http://a.org/entry")
    rows = parse_batch(plan(), [feed]).parse_data.to_pylist()
    assert [row["canonical"] for row in rows] == ["http://a.org/real", ""]


def test_a_canonical_url_is_no_longer_than_links_may_be() -> None:
    target = "http://a.org/" + "x" * 87
    page = content(URL, headers={"link": f"<{target}>; rel=canonical"})
    kept = parse_batch(plan(**{"db.max.outlink.length": 100}), [page])
    assert only(kept)["canonical"] == target
    assert kept.counters["canonicals_dropped.too_long"] == 0
    dropped = parse_batch(plan(**{"db.max.outlink.length": 99}), [page])
    assert only(dropped)["canonical"] == ""
    assert dropped.counters["canonicals_dropped.too_long"] == 1


def test_a_refresh_is_a_redirect_for_a_later_round() -> None:
    batch = parsed("title T", "refresh http://A.org/next#x", "text t")
    assert only(batch)["status"] == "success_redirect"
    assert told(batch) == [(URL, Status.SIGNATURE), ("http://a.org/next", Status.LINKED)]
    _, (_, link) = to_records(batch.crawl_parse)
    assert link.metadata == {"_repr_": URL}
    assert batch.parse_text.num_rows == 1


def test_a_refresh_that_may_not_be_followed_or_leads_nowhere() -> None:
    batch = parsed("refresh http://b.org/" + "x" * 3000)
    assert only(batch)["status"] == "success_redirect"
    assert told(batch) == [(URL, Status.SIGNATURE)]
    assert batch.counters["refreshes_dropped.filtered"] == 1
    assert only(parsed(f"refresh {URL}"))["status"] == "success"
    again = parsed(f"refresh {URL}#here")
    assert told(again) == [(URL, Status.SIGNATURE)]
    assert again.counters["refreshes_dropped.self"] == 1


@pytest.mark.parametrize(("also", "reason"), [(True, "external"), (False, "")])
def test_a_refresh_leads_no_further_than_any_redirect(also: bool, reason: str) -> None:
    rules = {"db.ignore.external.links": True, "db.ignore.also.redirects": also}
    batch = parse_batch(plan(**rules), [content(URL, "refresh http://b.org/")])
    assert (("http://b.org/", Status.LINKED) in told(batch)) is not also
    assert batch.counters[f"refreshes_dropped.{reason}"] == also
    inside = parse_batch(plan(**rules), [content(URL, "refresh http://a.org/in")])
    assert ("http://a.org/in", Status.LINKED) in told(inside)


def test_documents_inside_a_page_stand_under_urls_of_its_host() -> None:
    batch = parsed(
        *("title Feed", "document http://a.org/1#x", "title One", "text one"),
        *("link http://c.org/", "document http://b.org/2", "title Foreign"),
        *("document http://a.org/1", "title Again", "document nonsense", f"document {URL}"),
    )
    assert batch.parse_data["title"].to_pylist() == ["Feed", "One"]
    assert told(batch) == [
        (URL, Status.SIGNATURE),
        ("http://a.org/1", Status.FETCH_SUCCESS),
        ("http://a.org/1", Status.SIGNATURE),
        ("http://c.org/", Status.LINKED),
    ]
    assert batch.counters["documents_inside"] == 1
    assert batch.counters["documents_dropped.external"] == 1
    assert batch.counters["documents_dropped.duplicate"] == 2
    assert batch.counters["documents_dropped.filtered"] == 1
    one, other = batch.parse_data["signature"].to_pylist()
    assert one != other


def test_metadata_that_the_crawldb_wants() -> None:
    batch = parsed("meta a 1", "meta b 2", db__parsemeta__to__crawldb=["b", "c"])
    _, (_, noted) = to_records(batch.crawl_parse)
    assert (noted.status, noted.metadata) == (Status.PARSE_METADATA, {"b": "2"})


def test_texts_need_not_be_stored() -> None:
    batch = parsed("text x", parser__store__text=False)
    assert batch.parse_text.num_rows == 0 and batch.parse_data.num_rows == 1


class Half(Parser):
    """Gives texts that cannot be stored as they are."""

    mime_types: ClassVar[tuple[str, ...]] = ("text/plain",)

    def __init__(self, config: Config) -> None:
        pass

    def parse(self, page: Page) -> Sequence[Parse]:
        return [Parse(page.url, title="\ud800x", metadata={"k\udfff": "v\ud800", "n": 3})]  # type: ignore[dict-item]


def test_texts_that_have_no_bytes_are_mended() -> None:
    row = only(parsed(plugin__parser=[f"{HERE}:Half"]))
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
        assert only(parsed("title T", plugin__parser=[*names, line]))["title"] == "T"
    failed = only(parsed(plugin__parser=_named("Refusing", "Failing")))
    assert (failed["status"], failed["message"]) == ("failed_invalid_format", "not mine")
    failed = only(parsed(plugin__parser=_named("Refusing")))
    assert failed["message"] == "no parser reads text/plain"


def test_parsers_that_name_the_type_come_first() -> None:
    line = f"{SMALL}:LineParser"
    found = parsed("title T", plugin__parser=[*_named("Failing", "AnyText"), line])
    assert only(found)["title"] == "T"
    css = content(URL, content_type="text/css")
    batch = parse_batch(plan(plugin__parser=[line, *_named("Failing", "AnyText")]), [css])
    assert only(batch)["title"] == "any text"


def test_a_file_says_which_parser_reads_a_type() -> None:
    line, other = f"{SMALL}:LineParser", f"{HERE}:AnyText"
    files = {"parse-plugins.txt": f"# the order is another\ntext/plain\t{other} {line}\n"}
    made = settings(plugin__parser=[line, other])
    plain = ParsePlan.from_config(Config.of(made, files))
    assert only(parse_batch(plain, [content(URL, "title T")]))["title"] == "any text"
    for text, said in (("text/plain", "which parsers"), ("* nobody", "'nobody' is not among")):
        with pytest.raises(ConfigError, match=f"parse-plugins.txt:1: .*{said}"):
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
    assert only(batch)["title"] == "T"
    assert batch.counters[f"plugin_errors.parsefilter.{HERE}:Raising"] == 1


class NoSignature(Signature):
    def __init__(self, config: Config) -> None:
        pass

    def calculate(self, content: Content, parse: Parse | None) -> bytes:
        raise ValueError


def test_a_signature_that_fails_is_none() -> None:
    batch = parsed("title t", db__signature__class=f"{HERE}:NoSignature")
    assert only(batch)["signature"] is None
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
    assert [len(links) for links in batch.parse_data["outlinks"].to_pylist()] == [2, 0, 1]
    assert batch.parse_data["metadata"].to_pylist()[1] == [("k", "v")]


def test_a_batch_is_as_its_pages_one_by_one() -> None:
    pages = [
        content(f"http://h{n % 3}.org/{n}", f"title {n}", f"links {n} http://x.org/{n}/", deed)
        for n, deed in enumerate(["", "do raise value", "robots noindex", "text a", ""] * 3)
    ]
    made = plan()
    together = parse_batch(made, pages)
    apart = [parse_batch(made, [page]) for page in pages]
    for table in ("parse_data", "parse_text"):
        rows = [row for batch in apart for row in getattr(batch, table).to_pylist()]
        assert getattr(together, table).to_pylist() == rows
    rows = [row for batch in apart for row in batch.crawl_parse.to_pylist()]
    assert sorted(together.crawl_parse.to_pylist(), key=str) == sorted(rows, key=str)


def test_a_plan_travels() -> None:
    made = plan(scoring__filter__order=_named("Sharing"))
    page = content(URL, "title T", "link http://b.org/")
    here = parse_batch(made, [page])
    there = parse_batch(pickle.loads(pickle.dumps(made)), [page])
    assert there.crawl_parse.equals(here.crawl_parse)


def test_what_cannot_be_is_told_when_the_plan_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PluginError, match="no signature plugin is called 'md6'"):
        plan(db__signature__class="md6")
    with pytest.raises(ConfigError, match="no charset"):
        plan(parser__character__encoding__default="klingon")
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    with pytest.raises(ConfigError, match="main-content"):
        plan(parser__main__content=True)


def test_external_links_may_be_exempt() -> None:
    made = settings(db__ignore__external__links=True, urlexemption__order=["ignoreexempt"])
    files = {"db-ignore-external-exemptions.txt": "+\\.css$\n"}
    plain = ParsePlan.from_config(Config.of(made, files))
    page = content(URL, "link http://b.org/x.css", "link http://b.org/x")
    assert [link["url"] for link in only(parse_batch(plain, [page]))["outlinks"]] == [
        "http://b.org/x.css"
    ]
