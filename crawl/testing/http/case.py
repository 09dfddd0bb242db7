"""What the tests of an HTTP plugin share: a plugin that finds every host on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from crawl.config import Config
from crawl.interfaces.protocol import Failure, FailureKind, FetchProtocol, Request, Response
from crawl.testing.plugin_contract import PluginContract
from crawl.testing.servers.scripted_server import Answer, ScriptedServer, scripted_server

ENOUGH = 20.0
"""Seconds that a thread of a test waits for another at most."""


class HttpCase(PluginContract[FetchProtocol]):
    """No tests of its own."""

    def config(self, **values: object) -> Config:
        settings = {
            "http.agent.name": "mybot",
            "http.filter.ipaddress.allow.private": True,
            **{name.replace("_", "."): value for name, value in values.items()},
        }
        return Config.of(settings, files=self.files())

    def files(self) -> dict[str, str]:
        """Rule files by name."""
        return {
            "cookies.txt": "a.test\tid=7; b=8\n*.deep.test\tdeep=1\n",
            "auth.txt": "basic.test basic me secret\nbearer.test bearer abc\n"
            "digest.test digest me secret\n",
        }

    def plugin(self, resolver: Callable[[str], list[str]] | None = None, **values: Any) -> Any:
        """A plugin that finds every host on loopback."""
        locate = resolver or (lambda host: ["127.0.0.1"])
        return self.plugin_class(self.config(**values), resolver=locate)

    def response(self, plugin: Any, url: str, **request: Any) -> Response:
        answer = plugin.fetch(Request(url, **request))
        assert isinstance(answer, Response), answer
        return answer

    def asked_for(self, plugin: Any, url: str) -> Response | Failure:
        """The answer as a crawl gets it, which asks once more where the plugin refuses a head."""
        answer: Response | Failure = plugin.fetch(Request(url))
        if isinstance(answer, Failure) and answer.kind is FailureKind.REFUSED_HEAD:
            answer = plugin.fetch(Request(url))
        return answer

    def taken(self, server: ScriptedServer, answer: Answer) -> Response:
        """The response that a crawl gets where a server says this."""
        server.answers["/"] = answer
        got = self.asked_for(self.plugin(), server.url())
        assert isinstance(got, Response), got
        return got

    def refused(self, server: ScriptedServer, answer: Answer) -> Failure:
        """The failure that a crawl gets where a server says this."""
        server.answers["/"] = answer
        got = self.asked_for(self.plugin(), server.url())
        assert isinstance(got, Failure), got
        return got

    def failure(self, plugin: Any, url: str, **request: Any) -> Failure:
        answer = plugin.fetch(Request(url, **request))
        assert isinstance(answer, Failure), answer
        return answer

    @pytest.fixture
    def server(self) -> Iterator[ScriptedServer]:
        with scripted_server() as server:
            yield server
