"""What tools make of answers that are neither pages nor plain refusals."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from crawl.errors import ServiceFault
from crawl.service.client.requests import Request
from crawl.service.mcp import calling
from crawl.service.mcp.arguments import (
    CrawlSiteArguments,
    CrawlStatusArguments,
    LookupArguments,
    SearchArguments,
)


class Answers:
    """Gives what it is told to, and notes what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.asked: list[Request[Any]] = []

    async def __call__(self, request: Request[Any]) -> Any:
        self.asked.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def nonce() -> str:
    return "0123456789ab"


def test_a_crawl_of_which_nothing_is_indexed_yet_has_no_hits() -> None:
    ask = Answers(ServiceFault("soon", status=404, code="no_index"))
    result = asyncio.run(calling.search(ask, SearchArguments(query="a"), nonce))
    assert not result.is_error
    assert result.values["total"] == 0
    assert result.values["hits"] == []


def test_other_faults_of_a_search_are_told() -> None:
    ask = Answers(ServiceFault("none", status=501, code="no_search"))
    with pytest.raises(ServiceFault, match="none"):
        asyncio.run(calling.search(ask, SearchArguments(query="a"), nonce))


def test_filters_are_words_of_the_query() -> None:
    ask = Answers({"total": 0, "hits": []})
    given = SearchArguments(query="a b", site="example.org", language="de", since="30d")
    asyncio.run(calling.search(ask, given, nonce))
    assert ask.asked[0].path == (
        "/v1/search?q=a+b+site%3Aexample.org+lang%3Ade+since%3A30d&limit=10&offset=0"
    )


def test_an_answer_that_has_not_a_page_for_each_url_is_a_fault() -> None:
    ask = Answers({"pages": []})
    with pytest.raises(ServiceFault, match="not a page for each"):
        asyncio.run(calling.lookup(ask, LookupArguments(urls=("http://example.org/",)), nonce))


def test_pages_of_a_crawl_are_asked_for_before_how_far_it_is() -> None:
    ask = Answers([], {"id": "c1", "state": "finished"})
    given = CrawlStatusArguments(crawl="c1", after=4, limit=7, wait=2.5)
    asyncio.run(calling.crawl_status(ask, given, nonce))
    assert [each.path for each in ask.asked] == [
        "/v1/crawls/c1/pages?after=4&limit=7&wait=2.5s",
        "/v1/crawls/c1",
    ]
    assert ask.asked[0].waits_seconds == 2.5


def test_what_is_wrong_with_a_crawl_is_said_by_the_name_of_the_argument() -> None:
    said = "the service: scope.include: '(' is no regular expression of RE2 (not_started)"
    ask = Answers(ServiceFault(said, status=422, code="not_started"))
    with pytest.raises(ServiceFault) as told:
        given = CrawlSiteArguments(seeds=("http://example.org/",), include=("(",))
        asyncio.run(calling.crawl_site(ask, given, nonce))
    assert str(told.value) == said.replace("scope.", "")
    assert (told.value.status, told.value.code) == (422, "not_started")
