"""`crawl mcp` as agents start it: a process, spoken to over its stdin and stdout."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from crawl.service.callers.scope import Scope
from crawl.service.faces.announcement import announcement_of
from tests.cli.calling import Caller
from tests.service.mcp.agent_process import LONG_S, AgentProcess, agent_process
from tests.service.mcp.loopback_web import SETTINGS, serving
from tests.service.mcp.own_services import service_of

pytestmark = [pytest.mark.slow(seconds=60), pytest.mark.timeout(570)]
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def web() -> Iterator[tuple[str, threading.Event]]:
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def site(web: tuple[str, threading.Event]) -> str:
    return web[0]


def test_the_package_s_own_client_uses_each_tool(tmp_path: Path, site: str) -> None:
    given = [f"-D{name}={value}" for name, value in SETTINGS.items()]
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "crawl", "mcp", str(tmp_path / "crawl"), *given],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    url = f"{site}/article/stdio"

    async def use() -> list[Any]:
        # without asking first which protocol it is, for which this client waits not long
        async with Client(stdio_client(parameters), mode="legacy") as client:
            assert len((await client.list_tools()).tools) == 6
            crawl = await client.call_tool("crawl_site", {"seeds": [url], "pages": 1, "wait": 60})
            known = crawl.structured_content["crawl"]["id"]
            return [
                crawl,
                await client.call_tool("fetch", {"url": url}),
                await client.call_tool("lookup", {"urls": [url]}),
                await client.call_tool("search", {"query": "clocks"}),
                await client.call_tool("crawl_status", {"crawl": known}),
                await client.call_tool("crawl_cancel", {"crawl": known}),
            ]

    results = asyncio.run(use())
    assert [each.structured_content for each in results if each.is_error] == []
    assert results[1].structured_content["page"]["title"] == "Clocks stdio"
    assert results[2].structured_content["pages"][0]["code"] == 200
    assert results[4].structured_content["pages"][0]["url"] == url


def test_stdout_has_messages_alone_and_the_end_of_stdin_is_the_end(
    tmp_path: Path, site: str
) -> None:
    with agent_process(str(tmp_path / "crawl")) as agent:
        assert agent.greet()["result"]["serverInfo"]["name"] == "nutria"
        wrong = agent.ask("tools/call", {"name": "fetch", "arguments": {"uri": site}})
        assert wrong["error"]["code"] == -32602
        agent.process.stdin.write(b"this is no message\n")  # type: ignore[union-attr]
        # a call that is under way at the end is answered, and nothing but answers came
        number = agent.send(
            "tools/call", {"name": "fetch", "arguments": {"url": f"{site}/article/z"}}
        )
        assert agent.end() == 0
        messages = []
        while (message := agent.next_message()) is not None:
            messages.append(message)
        answer = next(each for each in messages if each.get("id") == number)
        assert answer["result"]["structuredContent"]["page"]["title"] == "Clocks z"


def test_sigterm_ends_it_in_good_order(tmp_path: Path, site: str) -> None:
    folder = tmp_path / "crawl"
    with agent_process(str(folder)) as agent:
        agent.greet()
        agent.call("fetch", {"url": f"{site}/article/before"})
        agent.process.send_signal(signal.SIGTERM)
        assert agent.process.wait(LONG_S) == 0
    assert announcement_of(folder / "service") is None
    assert list((folder / "segments").iterdir())  # the open segment is published


def test_the_second_agent_asks_the_first_one_s_service_and_takes_it_over(
    tmp_path: Path, web: tuple[str, threading.Event]
) -> None:
    site, gate = web
    folder = str(tmp_path / "crawl")
    gate.clear()
    with agent_process(folder) as first:
        first.greet()
        first.call("fetch", {"url": f"{site}/article/shared"})
        with agent_process(folder) as second:
            second.greet()
            known = second.call("lookup", {"urls": [f"{site}/article/shared"]})
            assert known["structuredContent"]["pages"][0]["title"] == "Clocks shared"
            queued = second.call("fetch", {"url": f"{site}/slow/kept", "wait": 0.1})
            assert queued["structuredContent"]["state"] == "queued"
            first.process.kill()
            first.process.wait(LONG_S)
            gate.set()
            # what was acknowledged is fetched by whoever comes next
            found = _until_known(second, f"{site}/slow/kept")
            assert found["title"] == "Clocks kept"
            assert second.end() == 0


def _until_known(agent: AgentProcess, url: str) -> Any:
    for _ in range(60):
        result = agent.call("fetch", {"url": url, "wait": 5})
        if result["structuredContent"].get("state") == "known":
            return result["structuredContent"]["page"]
    raise AssertionError(result)


def test_a_service_elsewhere_is_asked_with_the_key_of_the_environment(
    tmp_path: Path, site: str
) -> None:
    with service_of(tmp_path / "crawl", {"service.access.keys": "always"}) as own:
        key = own.crawl.keys.make("agent", (Scope.LOOKUP,)).text
        asked = {"urls": [site]}
        with agent_process("--service", own.address, key=key) as agent:
            agent.greet()
            assert agent.call("lookup", asked)["structuredContent"]["pages"] == [None]
            refused = agent.call("fetch", {"url": site})
            assert refused["structuredContent"]["error"]["code"] == "scope_missing"
            assert agent.end() == 0
        with agent_process("--service", own.address) as agent:
            agent.greet()
            refused = agent.call("lookup", asked)
            assert refused["isError"]
            assert refused["structuredContent"]["error"]["code"] == "key_missing"
            assert agent.end() == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "a crawl's folder or --service"),
        (["crawl", "--service", "http://127.0.0.1:1"], "a crawl's folder or --service"),
        (["crawl", "--host", "0.0.0.0"], "--host goes with --http"),
        (["--service", "nowhere"], "expected an address"),
        (["--service", "http://127.0.0.1:1", "--http", "0", "--host", "0.0.0.0"], "loopback alone"),
    ],
)
def test_what_cannot_be_meant_is_one_line_on_stderr(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(tmp_path / each) if each == "crawl" else each for each in words]
    answer = Caller(capsys)("mcp", *given, "-Dhttp.agent.name=toolbot")
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert "Traceback" not in answer.err


def test_without_a_key_it_is_not_open_to_the_world(tmp_path: Path) -> None:
    words = (str(tmp_path / "crawl"), "--http", "0", "--host", "0.0.0.0")
    ended = subprocess.run(
        [sys.executable, "-m", "crawl", "mcp", *words, "-Dhttp.agent.name=toolbot"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONG_S,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "there is no key" in ended.stderr
    assert "Traceback" not in ended.stderr
