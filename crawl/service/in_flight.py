"""Which jobs are on their way, and who else waits for their URLs.

It is in memory only: what it holds stands in the queue as well, from which it is made again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from crawl.service.values import Job, Priority

_Key = TypeVar("_Key")


@dataclass(slots=True)
class _Flight:
    """All jobs that wait for one URL."""

    leader: str
    """The id of the job that the URL is fetched for."""
    jobs: dict[str, Job] = field(default_factory=dict)


class InFlight:
    """The jobs that are not finished. For whoever holds the service's lock."""

    def __init__(self) -> None:
        self._by_url: dict[str, _Flight] = {}
        self._url_of: dict[str, str] = {}
        self._domain_of: dict[str, str] = {}
        self.by_priority: Counter[Priority] = Counter()
        self.by_domain: Counter[str] = Counter()
        """Jobs of a domain, those of site crawls aside: a site is of one domain, and has limits
        of its own."""

    def __len__(self) -> int:
        return len(self._url_of)

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._url_of

    def is_awaited(self, url: str) -> bool:
        """Whether a job fetches the URL."""
        return url in self._by_url

    def add(self, job: Job, domain: str) -> bool:
        """Takes a job on; True where it is the first that waits for its URL, and has to be
        fetched for."""
        if job.id in self._url_of:
            raise ValueError(f"job {job.id} is on its way already")
        flight = self._by_url.get(job.url)
        is_first = flight is None
        if flight is None:
            flight = self._by_url[job.url] = _Flight(job.id)
        flight.jobs[job.id] = job
        self._url_of[job.id] = job.url
        self.by_priority[job.wish.priority] += 1
        if not job.wish.crawl:
            self._domain_of[job.id] = domain
            self.by_domain[domain] += 1
        return is_first

    def waiting_for(self, url: str) -> list[Job]:
        """The jobs that wait for a URL, in the order in which they came."""
        flight = self._by_url.get(url)
        return [] if flight is None else list(flight.jobs.values())

    def replace(self, job: Job) -> None:
        """Puts what is known of a job now in its place; the URL stays."""
        self._by_url[self._url_of[job.id]].jobs[job.id] = job

    def take(self, url: str) -> list[Job]:
        """The jobs that wait for a URL, which are on their way no more."""
        flight = self._by_url.pop(url, None)
        if flight is None:
            return []
        jobs = list(flight.jobs.values())
        for job in jobs:
            del self._url_of[job.id]
            _count_down(self.by_priority, job.wish.priority)
            domain = self._domain_of.pop(job.id, None)
            if domain is not None:
                _count_down(self.by_domain, domain)
        return jobs

    def urls(self) -> Iterable[str]:
        """All URLs that are awaited."""
        return self._by_url.keys()


def _count_down(counter: Counter[_Key], key: _Key) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]  # months of domains would never go
