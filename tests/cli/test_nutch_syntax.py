from __future__ import annotations

import pytest

from crawl.cli.nutch_syntax import NOT_YET, check_nutch_syntax
from crawl.errors import UsageError
from crawl.operations.registry import OURS
from tests.cli.calling import Caller


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("generate mycrawl -topN 1000", "generate: -topN is spelt --top-n here"),
        ("generate mycrawl -maxNumSegments 2", "-maxNumSegments is spelt --max-num-segments here"),
        ("generate mycrawl -adddays 3", "-adddays is spelt --add-days here"),
        ("readdb mycrawl -stats", "readdb: -stats is spelt --stats here"),
        ("readdb mycrawl -topN 10 out", "-topN is spelt --top N here"),
        ("updatedb mycrawl -noAdditions", "-noAdditions is spelt --no-additions here"),
        ("run mycrawl 3", "type `crawl run mycrawl --rounds 3`"),
        ("run mycrawl -1", "type `crawl run mycrawl --rounds -1`"),
        ("inject mycrawl/crawldb urls", "name the crawl's folder, mycrawl, not its CrawlDb"),
        ("inject crawldb urls", "name the crawl's folder, ., not its CrawlDb"),
        ("generate s3://b/c/crawldb s3://b/c/segments", "name the crawl's folder, s3://b/c,"),
        ("fetch mycrawl/segments/20261115093000", "type `crawl fetch mycrawl 20261115093000`"),
        ("fetch segments/20261115093000", "type `crawl fetch . 20261115093000`"),
        ("invertlinks mycrawl/linkdb", "name the crawl's folder, mycrawl, not its LinkDb"),
        ("invertlinks mycrawl -noNormalize", "-noNormalize is spelt --no-normalize here"),
        ("readseg mycrawl/segments", "readseg is not there yet: reading of segments will come"),
        ("readseg -list mycrawl/segments/x", "`crawl status DIR` lists the segments"),
        ("crawl mycrawl 3", "`crawl run DIR --rounds N` turns rounds"),
    ],
)
def test_a_nutch_command_line_is_answered_with_what_to_type(
    crawl: Caller, line: str, expected: str
) -> None:
    answer = crawl(*line.split())
    assert answer.code == 2
    assert expected in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    "line",
    [
        "run mycrawl -s seeds.txt --rounds 3",
        "run mycrawl -D http.agent.name=x",
        "run mycrawl -Dhttp.agent.name=x",
        "generate mycrawl --top-n 5 -q",
        "readdb mycrawl --url -stats-",
        "inject mycrawl -- -odd-seeds",
        "explain mycrawl/crawldbs http://a.test/",
        "parsechecker http://a.test/crawldb",
        "--help",
        "",
    ],
)
def test_ours_are_left_alone(line: str) -> None:
    check_nutch_syntax(line.split())


def test_what_is_there_is_not_said_to_be_missing() -> None:
    assert not set(NOT_YET) & set(OURS)


def test_a_missing_command_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        check_nutch_syntax(["warc"])
