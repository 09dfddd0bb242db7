"""The client for programs that wait."""

from __future__ import annotations

import random
import time
from collections.abc import Generator, Iterable, Mapping
from types import TracebackType
from typing import Any, TypeVar

from crawl.clock import Clock, SystemClock
from crawl.service.client import calls, requests, streams
from crawl.service.client.address import as_seconds, checked_address, checked_key
from crawl.service.client.calls import Surroundings, ask
from crawl.service.client.effects import (
    Call,
    Emit,
    ItemStream,
    Open,
    Pause,
    Read,
    Send,
    Stream,
    Unanswered,
)
from crawl.service.client.requests import Answer, Request
from crawl.service.client.results import CrawlStatus, Finished, Job, Page, SearchHit
from crawl.service.client.streams import Missed, log_missed
from crawl.service.client.transport import HttpTransport

Result = TypeVar("Result")
Item = TypeVar("Item")


def connect(address: str, *, key: str | None = None, timeout: float | str = 30.0) -> Client:
    """A client of the service (`crawl serve`) at an address; nothing is asked yet.

    >>> service = crawl.connect("http://127.0.0.1:8199")

    Then `service.fetch("https://example.org/")` is a page. `timeout` is what one call may take
    with all its attempts: a service that says 429 or 503 is asked again when it wants to be,
    unless that would be too late.
    """
    return Client(address, key=key, timeout=timeout)


class Client:
    """A crawl service. Threads may share it; with `with` its connections are closed."""

    def __init__(
        self,
        address: str,
        *,
        key: str | None = None,
        timeout: float | str = 30.0,
        connections: int = 8,
        silence: float | str = 60.0,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """`silence`: after so long without a byte a stream is opened anew."""
        clock = clock or SystemClock()
        self._around = Surroundings(clock, rng or random.Random(), as_seconds(timeout, "timeout"))
        self._address = checked_address(address)
        self._transport = HttpTransport(
            self._address,
            checked_key(key),
            clock,
            connections=connections,
            silence_seconds=as_seconds(silence, "silence"),
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._address}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes connections that wait for the next request."""
        self._transport.close()

    def fetch(
        self,
        url: str,
        wait: float | str = "5s",
        max_age: float | str | None = None,
        *,
        formats: Iterable[str] | None = None,
        image: bool | None = None,
    ) -> Page:
        """The page, fetched or known; NotFetchedYet where that takes longer than `wait`, whose
        `job_id` is what to `wait` for. With `formats=["metadata", "markdown"]` its text comes,
        too; `image`: whether the image that stands for it is fetched as well."""
        request = requests.fetch(url, as_seconds(wait, "wait"), max_age, formats, image)
        return self._run(ask(request, self._around))

    def submit(
        self,
        urls: str | Iterable[str | Mapping[str, Any]] | None = None,
        *,
        text: str | None = None,
        priority: str | None = None,
        max_age: float | str | None = None,
        tags: Iterable[str] | None = None,
        formats: Iterable[str] | None = None,
        image: bool | None = None,
    ) -> list[Job]:
        """A job for each URL, or for each URL of a text; what is refused has its reason. All go
        in one request, for which a service has a bound."""
        options: dict[str, Any] = {"priority": priority, "max_age": max_age, "tags": tags}
        options |= {"formats": formats, "image": image}
        return self._run(calls.submit(urls, self._around, text=text, **options))

    def lookup(
        self, urls: Iterable[str], *, formats: Iterable[str] | None = None
    ) -> list[Page | None]:
        """What is known of any number of URLs, in their order; nothing is fetched."""
        return self._run(calls.lookup(urls, self._around, formats))

    def url(self, url: str, *, formats: Iterable[str] | None = None) -> Page | None:
        """What is known of a URL; nothing is fetched."""
        return self._run(ask(requests.url(url, formats), self._around))

    def job(self, job_id: str) -> Job:
        """What became of a job so far."""
        return self._run(ask(requests.job(job_id), self._around))

    def wait(self, jobs: Job | str | Iterable[Job | str], timeout: float | str = 60.0) -> list[Job]:
        """What became of jobs, in their order; those not done by then are as they are then."""
        return self._run(calls.wait_for(jobs, self._around, as_seconds(timeout, "timeout")))

    def search(self, query: str, limit: int = 10) -> list[SearchHit]:
        """Pages that have the words of a query, the best first."""
        return self._run(ask(requests.search(query, limit), self._around))

    def events(
        self, last_id: str | None = None, *, on_missed: Missed = log_missed
    ) -> Generator[Finished, None, None]:
        """Every URL that is finished, from now on or after the event `last_id`. It goes on where
        a connection breaks, and fails where the service is away for longer than the time-out. A
        listener that is too slow misses events; `on_missed` is told how many."""
        return self._iterate(streams.finished_urls(self._around, last_id or "", on_missed))

    def crawl_site(
        self,
        seeds: str | Iterable[str],
        *,
        hosts: Iterable[str] | None = None,
        domains: Iterable[str] | None = None,
        prefix: str | None = None,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        pages: int | None = None,
        depth: int | None = None,
        seconds: float | None = None,
        per_host: int | None = None,
        formats: Iterable[str] | None = None,
        image: bool | None = None,
    ) -> SiteCrawl:
        """Begins to crawl a site, within its scope and limits."""
        status = self._run(
            ask(
                requests.start_crawl(
                    [seeds] if isinstance(seeds, str) else seeds,
                    requests.scope(hosts, domains, prefix, include, exclude),
                    {"pages": pages, "depth": depth, "seconds": seconds, "per_host": per_host},
                    formats,
                    image,
                ),
                self._around,
            )
        )
        return SiteCrawl(self, status.id)

    def site_crawl(self, crawl_id: str) -> SiteCrawl:
        """A crawl that was begun before."""
        return SiteCrawl(self, crawl_id)

    def send(self, request: Request[Result]) -> Result:
        """The answer to any request of the interface, sent again where that is right."""
        return self._run(ask(request, self._around))

    def _run(self, call: Call[Result]) -> Result:
        """Does what a call needs."""
        given: Any = None
        fault: Unanswered | None = None
        while True:
            try:
                effect = call.send(given) if fault is None else call.throw(fault)
            except StopIteration as ended:
                result: Result = ended.value
                return result
            given, fault = None, None
            try:
                given = self._do(effect)
            except Unanswered as why:
                fault = why

    def _iterate(self, stream: ItemStream[Item]) -> Generator[Item, None, None]:
        given: Any = None
        fault: Unanswered | None = None
        try:
            while True:
                try:
                    effect = stream.send(given) if fault is None else stream.throw(fault)
                except StopIteration:
                    return
                given, fault = None, None
                if isinstance(effect, Emit):
                    yield effect.item
                    continue
                try:
                    given = self._do(effect)
                except Unanswered as why:
                    fault = why
        finally:
            stream.close()

    def _do(self, effect: Send | Open | Read | Pause) -> Answer | Stream | bytes | None:
        if isinstance(effect, Send):
            return self._transport.send(effect)
        if isinstance(effect, Open):
            return self._transport.open(effect)
        if isinstance(effect, Read):
            return effect.stream.read()
        time.sleep(effect.seconds)
        return None


class SiteCrawl:
    """The crawl of a site."""

    def __init__(self, client: Client, crawl_id: str) -> None:
        self._client = client
        self.id = crawl_id

    def __repr__(self) -> str:
        return f"<SiteCrawl {self.id}>"

    def status(self) -> CrawlStatus:
        """How far it has come."""
        return self._client._run(ask(requests.crawl_status(self.id), self._client._around))

    def cancel(self) -> None:
        """Ends it; what was fetched stays."""
        self._client._run(ask(requests.cancel_crawl(self.id), self._client._around))

    def pages(
        self, last_id: str | None = None, *, on_missed: Missed = log_missed
    ) -> Generator[Page, None, None]:
        """Its pages as they come, until it is done; it goes on where a connection breaks."""
        client = self._client
        stream = streams.pages_of_crawl(self.id, client._around, last_id or "", on_missed)
        return client._iterate(stream)
