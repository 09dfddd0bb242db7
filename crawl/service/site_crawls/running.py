"""A site crawl under way, with what is known of it in memory: enough to say of every link at once
whether it is taken on.

URLs are known by 64-bit hashes, for a crawl may have millions: that two of a million have the same
one, and a page is missed, happens once in thirty million crawls.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from crawl.service.intake.intake import crawl_job_id
from crawl.service.site_crawls.crawl_scope import CrawlScope
from crawl.service.site_crawls.values import Asked, SiteCrawl
from crawl.service.values import Finished, JobState, Wish

MAX_REMEMBERED = 2_000_000
"""Links that were left out and are remembered, so that each counts once."""


class RunningCrawl:
    """One crawl; its caller sees to it that one thread at a time is here."""

    def __init__(self, crawl: SiteCrawl, scope: CrawlScope) -> None:
        self.crawl = crawl
        self.scope = scope.with_hosts(crawl.further_hosts) if crawl.further_hosts else scope
        self.held: deque[Asked] = deque()
        """URLs that were taken on, and wait for room in the queue."""
        self.is_ending = False
        self._asked: set[int] = set()
        self._left_out: set[int] = set()
        self._ended: set[str] = set()
        self._come: set[int] = set()
        self._of_host: Counter[str] = Counter()

    @property
    def ended(self) -> int:
        """How many jobs have ended."""
        return len(self._ended)

    def is_new(self, url: str) -> bool:
        """Whether a link was not looked at yet."""
        key = hash(url)
        return key not in self._asked and key not in self._left_out

    def has_room(self, url: str, host: str) -> str:
        """Why there is no room for a URL; empty where there is."""
        limits = self.crawl.wish.limits
        if self.crawl.counts.asked >= limits.pages:
            return "page_limit"
        if limits.per_host is not None and self._of_host[host] >= limits.per_host:
            return "host_limit"
        return ""

    def take_on(self, asked: Asked, host: str) -> None:
        """Counts a URL among those that are asked for."""
        self._asked.add(hash(asked.url))
        self.crawl.counts.asked += 1
        if self.crawl.wish.limits.per_host is not None:
            self._of_host[host] += 1

    def leave_out(self, reason: str, links: int = 1) -> None:
        """Counts links that are not taken on."""
        if links > 0:
            counts = self.crawl.counts.left_out
            counts[reason] = counts.get(reason, 0) + links

    def remember(self, url: str) -> None:
        """Has a link looked at once, under another name or to be left out."""
        if len(self._left_out) < MAX_REMEMBERED:
            self._left_out.add(hash(url))

    def has_ended(self, job: str) -> bool:
        """Whether what became of a job is counted already."""
        return job in self._ended

    def has_come(self, url: str) -> bool:
        """Whether a URL was fetched in this crawl."""
        return hash(url) in self._come

    def count(self, finished: Finished) -> None:
        """Takes in what became of a job."""
        self._ended.add(finished.job)
        counts, page = self.crawl.counts, finished.page
        if page is not None:
            self._come.add(hash(finished.url))
        if finished.state is JobState.FINISHED and page is not None and page.is_page:
            counts.pages += 1
        else:
            counts.failed += 1

    def unfinished(self, asked: Iterable[Asked]) -> list[Asked]:
        """Those whose jobs have not ended."""
        return [each for each in asked if self.job_of(each) not in self._ended]

    def job_of(self, asked: Asked) -> str:
        """The id of a URL's job."""
        return crawl_job_id(self.crawl.id, asked.url)

    def wish(self, asked: Asked) -> Wish:
        """What the intake is asked for. An answer that is known has no links: pages are asked for
        anew."""
        wish = self.crawl.wish
        return Wish(
            url=asked.url,
            priority=wish.priority,
            max_age_s=0.0,
            tags=wish.tags,
            owner=wish.owner,
            crawl=self.crawl.id,
            depth=asked.depth,
            formats=tuple(each for each in wish.formats if each != "metadata"),
            image=wish.image,
        )
