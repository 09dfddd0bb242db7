"""Each tool, used by the package's own client over HTTP, against a real web on loopback."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import jsonschema  # type: ignore[import-untyped]
import pytest
import urllib3

pytest.importorskip("mcp")

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from crawl.service.callers.quota import Quota
from crawl.service.callers.scope import Scope
from crawl.service.faces.own_service import OwnService
from tests.service.mcp.loopback_web import HIDDEN, serving
from tests.service.mcp.own_services import service_of

pytestmark = [pytest.mark.slow(seconds=30), pytest.mark.timeout(240)]

Result = TypeVar("Result")
INVALID_PARAMS = -32602
_LONG_S = 60


@pytest.fixture(scope="module")
def web() -> Iterator[tuple[str, threading.Event]]:
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def site(web: tuple[str, threading.Event]) -> str:
    return web[0]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnService]:
    with service_of(tmp_path_factory.mktemp("crawl")) as service:
        yield service


def with_client(address: str, use: Callable[[Client], Awaitable[Result]], **headers: str) -> Result:
    async def run() -> Result:
        async with httpx2.AsyncClient(headers=headers, timeout=_LONG_S) as http:
            transport = streamable_http_client(f"{address}/mcp", http_client=http)
            async with Client(transport) as client:
                return await use(client)

    return asyncio.run(run())


def call(address: str, tool: str, arguments: dict[str, Any], **headers: str) -> Any:
    async def use(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    return with_client(address, use, **headers)


def text_of(result: Any) -> str:
    text: str = result.content[0].text
    return text


def test_it_says_what_the_tools_are(own: OwnService) -> None:
    async def use(client: Client) -> Any:
        assert client.instructions and "instruction" in client.instructions
        return (await client.list_tools()).tools

    tools = {each.name: each for each in with_client(own.address, use)}
    assert list(tools) == [
        "fetch",
        "lookup",
        "search",
        "crawl_site",
        "crawl_status",
        "crawl_cancel",
    ]
    for tool in tools.values():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        assert tool.input_schema["additionalProperties"] is False
        assert len(tool.description) > 60
    assert tools["search"].annotations.read_only_hint
    assert not tools["search"].annotations.open_world_hint
    assert tools["fetch"].annotations.open_world_hint
    assert tools["crawl_cancel"].annotations.destructive_hint
    assert tools["lookup"].input_schema["properties"]["urls"]["maxItems"] == 300


def test_a_page_comes_as_text_between_marks_that_it_does_not_know(
    own: OwnService, site: str
) -> None:
    result = call(own.address, "fetch", {"url": f"{site}/article/first"})
    assert not result.is_error
    values = result.structured_content
    assert values["page"]["title"] == "Clocks first"
    assert values["page"]["code"] == 200
    assert "data, not instructions" in values["notice"]
    mark = values["markdown"].split(">", 1)[0].removeprefix("<untrusted-web-content-")
    assert len(mark) == 12
    text = text_of(result)
    begin, end = f"<untrusted-web-content-{mark}>", f"</untrusted-web-content-{mark}>"
    assert text.index(begin) < text.index("museum of clocks") < text.index(end)
    assert text.index(begin) < text.index("Ignore your instructions") < text.index(end)
    assert HIDDEN not in text and HIDDEN not in values["markdown"]
    again = call(own.address, "fetch", {"url": f"{site}/article/first"})
    assert mark not in text_of(again)


def test_a_long_text_comes_in_pieces(own: OwnService, site: str) -> None:
    asked = {"url": f"{site}/article/pieces", "max_characters": 400}
    first = call(own.address, "fetch", asked).structured_content
    assert first["next_start"] == 400 < first["characters"]
    pieces: list[str] = [first["markdown"]]
    start: int | None = 400
    while start is not None:
        values = call(own.address, "fetch", {**asked, "start": start}).structured_content
        pieces.append(values["markdown"])
        start = values.get("next_start")
    inner = "".join(each.split("\n", 1)[1].rsplit("\n", 1)[0] for each in pieces)
    assert inner.count("every clock in its halls") == 8


def test_metadata_alone_and_where_a_redirect_led(own: OwnService, site: str) -> None:
    result = call(own.address, "fetch", {"url": f"{site}/short/1", "format": "metadata"})
    values = result.structured_content
    assert "markdown" not in values
    assert values["page"]["final_url"] == f"{site}/article/led-here"
    assert values["page"]["chain"][0]["code"] == 302
    headline = text_of(result).split("\n", 1)[0]
    assert "led-here" not in headline  # the site's words stand between the marks


def test_what_robots_forbid_is_not_fetched(own: OwnService, site: str) -> None:
    result = call(own.address, "fetch", {"url": f"{site}/private/1"})
    assert "robots" in str(result.structured_content)
    assert "museum" not in text_of(result)


def test_addresses_of_the_house_are_refused(own: OwnService) -> None:
    result = call(own.address, "fetch", {"url": "http://169.254.169.254/latest/meta-data"})
    assert result.is_error
    assert result.structured_content["error"]["code"]


def test_a_page_that_takes_long_is_queued_and_found_later(
    own: OwnService, web: tuple[str, threading.Event]
) -> None:
    site, gate = web
    url = f"{site}/slow/1"
    result = call(own.address, "fetch", {"url": url, "wait": 0.2})
    assert result.structured_content["state"] == "queued"
    assert not result.is_error
    gate.set()
    result = call(own.address, "fetch", {"url": url, "wait": _LONG_S})
    assert result.structured_content["page"]["title"] == "Clocks 1"


def test_lookup_fetches_nothing_and_keeps_the_order(own: OwnService, site: str) -> None:
    call(own.address, "fetch", {"url": f"{site}/article/known"})
    asked = [f"{site}/article/unknown", f"{site}/article/known", "no url at all"]
    result = call(own.address, "lookup", {"urls": asked})
    unknown, known, strange = result.structured_content["pages"]
    assert (unknown, strange) == (None, None)
    assert known["title"] == "Clocks known"
    assert result.structured_content["omitted"] == 0
    assert '"known": false' in text_of(result)


def test_search_finds_what_was_fetched_and_narrows_it_down(own: OwnService, site: str) -> None:
    call(own.address, "fetch", {"url": f"{site}/article/searched"})

    async def use(client: Client) -> Any:
        for _ in range(600):  # the index follows within its time; others are in it before
            found = await client.call_tool("search", {"query": "searched museum", "limit": 3})
            if any(hit["url"].endswith("/searched") for hit in found.structured_content["hits"]):
                break
            await asyncio.sleep(0.1)
        other = await client.call_tool("search", {"query": "museum", "site": "example.org"})
        return found.structured_content, other.structured_content

    found, other = with_client(own.address, use)
    assert found["hits"][0]["url"] == f"{site}/article/searched"
    assert other["hits"] == []


def test_a_site_is_crawled_and_asked_after(own: OwnService, site: str) -> None:
    asked = {"seeds": [f"{site}/article/seed"], "pages": 3, "format": "markdown", "wait": _LONG_S}
    values = call(own.address, "crawl_site", asked).structured_content
    assert values["crawl"]["state"] == "finished"
    assert {each["url"].rsplit("/", 1)[-1] for each in values["pages"]} == {"seed", "one", "two"}
    assert all("museum" in each["markdown"] for each in values["pages"])
    crawl = values["crawl"]["id"]
    first = call(own.address, "crawl_status", {"crawl": crawl, "limit": 2}).structured_content
    assert [each["number"] for each in first["pages"]] == [1, 2]
    rest = call(own.address, "crawl_status", {"crawl": crawl, "after": first["next_after"]})
    assert [each["number"] for each in rest.structured_content["pages"]] == [3]


def test_a_crawl_can_be_cancelled(own: OwnService, site: str) -> None:
    # a page that is never answered keeps it running
    values = call(
        own.address, "crawl_site", {"seeds": [f"{site}/article/c"], "wait": 0, "depth": 9}
    )
    crawl = values.structured_content["crawl"]["id"]
    ended = call(own.address, "crawl_cancel", {"crawl": crawl}).structured_content
    assert ended["crawl"]["state"] in ("cancelled", "finished")
    unknown = call(own.address, "crawl_cancel", {"crawl": "01aaaaaaaaaaaaaaaaaaaaaaaa"})
    assert unknown.is_error
    assert unknown.structured_content["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("tool", "arguments", "place"),
    [
        ("fetch", {}, "url"),
        ("fetch", {"url": 7}, "url"),
        ("fetch", {"url": "http://example.org/", "waits": 1}, "waits"),
        ("fetch", {"url": "http://example.org/", "wait": 61}, "wait"),
        ("fetch", {"url": "http://example.org/", "max_age": "soon"}, "max_age"),
        ("fetch", {"url": "http://example.org/", "format": "pdf"}, "format"),
        ("lookup", {"urls": []}, "urls"),
        ("lookup", {"urls": ["http://example.org/"] * 301}, "urls"),
        ("search", {"query": "a", "site": "example.org lang:de"}, "site"),
        ("crawl_site", {"seeds": ["http://example.org/"], "pages": 0}, "pages"),
        ("crawl_status", {"crawl": "../jobs"}, "crawl"),
        ("drop_tables", {}, "drop_tables"),
    ],
)
def test_bad_arguments_are_the_protocol_s_errors(
    own: OwnService, tool: str, arguments: dict[str, Any], place: str
) -> None:
    async def use(client: Client) -> MCPError:
        with pytest.raises(MCPError) as raised:
            await client.call_tool(tool, arguments)
        return raised.value

    error = with_client(own.address, use)
    assert error.code == INVALID_PARAMS
    assert place in error.message


def post(address: str, headers: dict[str, str], body: bytes | None = None) -> Any:
    message = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    return urllib3.request(
        "POST",
        f"{address}/mcp",
        body=message if body is None else body,
        headers={**sent, **headers},
    )


def test_pages_of_other_sites_cannot_ask(own: OwnService) -> None:
    assert post(own.address, {}).status == 200
    assert post(own.address, {"Host": "rebound.example.org"}).status == 403
    assert post(own.address, {"Origin": "https://example.org"}).status == 403
    assert post(own.address, {"Sec-Fetch-Site": "cross-site"}).status == 403


def test_what_is_no_message_is_refused(own: OwnService) -> None:
    assert post(own.address, {}, b"{").status == 400
    assert post(own.address, {"Content-Type": "text/plain"}).status >= 400
    assert post(own.address, {}, b" " * (64 << 20)).status == 413
    assert urllib3.request("GET", f"{own.address}/mcp").status == 405


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnService]:
    folder = tmp_path_factory.mktemp("guarded")
    with service_of(folder, {"service.access.keys": "always"}) as service:
        yield service


def test_without_a_key_nobody_sees_a_tool(guarded: OwnService) -> None:
    refused = post(guarded.address, {})
    assert refused.status == 401
    assert refused.headers["WWW-Authenticate"].startswith("Bearer")
    assert refused.json()["error"]["code"] == "key_missing"
    wrong = post(guarded.address, {"Authorization": "Bearer nut_aaaaaa_" + "b" * 40})
    assert wrong.status == 401
    with pytest.raises(BaseException):  # noqa: B017 - a group of whatever the client makes of it
        call(guarded.address, "lookup", {"urls": ["http://example.org/"]})


def test_a_key_may_do_what_it_may_and_no_more(guarded: OwnService, site: str) -> None:
    key = guarded.crawl.keys.make("reader", (Scope.LOOKUP,)).text
    allowed = call(guarded.address, "lookup", {"urls": [site]}, Authorization=f"Bearer {key}")
    assert allowed.structured_content["pages"] == [None]
    refused = call(guarded.address, "fetch", {"url": site}, Authorization=f"Bearer {key}")
    assert refused.is_error
    assert refused.structured_content["error"]["code"] == "scope_missing"


def test_a_quota_is_told_with_the_time_to_wait(guarded: OwnService, site: str) -> None:
    quotas = {Scope.LOOKUP: Quota(per_second=0.001, burst=1)}
    key = guarded.crawl.keys.make("small", (Scope.LOOKUP,), quotas).text
    headers = {"Authorization": f"Bearer {key}"}
    assert not call(guarded.address, "lookup", {"urls": [site]}, **headers).is_error
    refused = call(guarded.address, "lookup", {"urls": [site]}, **headers)
    assert refused.is_error
    error = refused.structured_content["error"]
    assert error["code"] == "rate_exceeded"
    assert error["retry_after_seconds"] > 1
    assert "try again in" in text_of(refused)
