"""One part of a fetch list, fetched by a protocol that answers as the test says."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.fetcher.task import FetchTaskResult, FetchTaskSpec, fetch_part
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response
from crawl.interfaces.registry import ResolvedPlugin
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.records import to_records
from crawl.model.status import Status
from crawl.storage.chunks import ChunkLog
from crawl.storage.parquet import open_table
from crawl.storage.segments import FETCH, GENERATE
from tests.phases.webs import listed

Answer = Response | Failure
PLUGIN = ResolvedPlugin("protocol", "scripted", "tests.fetcher.scripted_task:ScriptedProtocol")


class Death(BaseException):
    """The death of the task: no fault of a protocol, and nothing catches it."""


class ScriptedProtocol:
    """Answers as the test says, and remembers what it was asked."""

    schemes = ("http",)
    asked: ClassVar[Counter[str]] = Counter()
    script: ClassVar[Script] = {}
    lock = threading.Lock()

    def __init__(self, config: Config) -> None:
        pass

    def fetch(self, request: Request) -> Answer:
        with self.lock:
            self.asked[request.url] += 1
        if request.url.endswith("/robots.txt"):
            return Response(request.url, 404, sent=1.0)
        return self.script.get(request.url, page)(request)

    def close(self) -> None:
        pass


def page(request: Request) -> Answer:
    return Response(request.url, 200, body=b"x", sent=1.0)


def refuse(request: Request) -> Answer:
    return Failure(request.url, FailureKind.CONNECT_REFUSED, sent=1.0)


def die(request: Request) -> Answer:
    raise Death


def redirect(target: str) -> Callable[[Request], Answer]:
    return lambda request: Response(request.url, 302, (("location", target),), b"", sent=1.0)


Script = dict[str, Callable[[Request], Answer]]
"""What each URL answers."""


class Part:
    """One part of a fetch list, to be fetched as often as the test likes."""

    def __init__(self, folder: Path, urls: list[str], **settings: object) -> None:
        directory, name = listed(str(folder / "c"), urls, parts=1)
        segment = directory.segments.segment(name)
        (self.file,) = segment.require(GENERATE).files
        config = Config.of(
            {
                "urlfilter.order": ["length"],
                "fetcher.server.delay": 0,
                "fetcher.threads.fetch": 1,
                "fetcher.checkpoint.records": 1,
                "fetcher.progress.interval": 0,
                "http.agent.name": "bot",
                **{name.replace("__", "."): value for name, value in settings.items()},
            }
        )
        self.spec = FetchTaskSpec(
            segment=segment.folder,
            config=config,
            protocols=(PLUGIN,),
            normalizers=NormalizerChain.from_config(config, Scope.FETCHER),
            filters=FilterChain.from_config(config),
            scoring=ScoringChain.from_config(config),
            buckets=4,
            lists=(self.file,),
            deadline_ms=None,
        )

    def fetch(self) -> FetchTaskResult:
        return fetch_part(self.spec, self.file)

    def resume(self) -> FetchTaskResult:
        """Runs the part again as a task of a fetch that takes over an hour later."""
        return fetch_part(replace(self.spec, clock=_Later(), run=uuid.uuid4().hex), self.file)

    def chunks(self) -> list[list[tuple[str, Status]]]:
        found = []
        for chunk in ChunkLog(self.spec.segment, self.file.part).committed():
            with open_table(self.spec.segment.child(FETCH), chunk.pieces[FETCH].path) as source:
                found.append([(url, datum.status) for url, datum in to_records(source.read())])
        return found

    def records(self) -> Counter[str]:
        """How many records of pages each URL has."""
        rows = [row for chunk in self.chunks() for row in chunk]
        return Counter(url for url, status in rows if status is not Status.LINKED)


class _Later(SystemClock):
    def now_ms(self) -> int:
        return super().now_ms() + 3_600_000


URLS = [f"http://h{n % 3}.org/{n}" for n in range(9)]


def pages_asked() -> Counter[str]:
    asked = ScriptedProtocol.asked
    return Counter({url: count for url, count in asked.items() if "robots" not in url})
