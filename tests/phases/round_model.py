"""What rounds must come to, worked out a second time: a crawl as a dictionary.

Written from the reference's words and the web's truth, without a line of the crawler's own
rules, so that the two can be held against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from crawl.model.status import Status

DAY = 86_400_000
PERMANENT, TEMPORARY = (301, 308), (302, 303, 307)
GONE = (403, 404, 410)
ROBOTS_SAY_NO = 1
"""Stands for a code: robots.txt forbids the page."""


@dataclass(frozen=True)
class Answer:
    """What a visit to a URL brings."""

    code: int
    links: tuple[str, ...] = ()
    target: str = ""
    signature: bytes = b""


@dataclass(frozen=True)
class Record:
    """A URL in the CrawlDb, without metadata."""

    status: Status
    fetch_time: int
    fetch_interval: int
    modified_time: int = 0
    retries: int = 0
    score: float = 0.0
    signature: bytes | None = None


Visit = Callable[[str, Record], Answer | None]
"""None where the server lets nobody in for now: nothing becomes of the URL then."""


@dataclass
class Model:
    """A crawl with opic scoring and the default schedule."""

    interval: int = 30 * 86_400
    longest: int = 90 * 86_400
    retry_max: int = 3
    records: dict[str, Record] = field(default_factory=dict)

    def inject(self, seeds: Iterable[str], now: int) -> None:
        for url in seeds:
            seed = Record(Status.DB_UNFETCHED, now, self.interval, score=1.0)
            self.records.setdefault(url, seed)

    def due(self, now: int) -> list[str]:
        return [url for url, record in self.records.items() if record.fetch_time <= now]

    def run_round(self, now: int, visit: Visit) -> dict[str, Answer]:
        """One round, all of whose steps happen at one moment; what was visited."""
        visits = {url: visit(url, self.records[url]) for url in self.due(now)}
        answers = {url: answer for url, answer in visits.items() if answer is not None}
        cash: dict[str, float] = {}
        for url, answer in answers.items():
            score = self.records[url].score
            # as a page with one link: unlike Nutch, which has the target start with nothing
            if answer.target and answer.target != url:
                cash[answer.target] = cash.get(answer.target, 0.0) + score
            links = dict.fromkeys(link for link in answer.links if link != url)
            for link in links:
                cash[link] = cash.get(link, 0.0) + score / len(links)
        for url, answer in answers.items():
            self.records[url] = self._visited(self.records[url], answer, now)
        for url, received in cash.items():
            known = self.records.get(url) or Record(Status.DB_UNFETCHED, now, self.interval)
            self.records[url] = replace(known, score=known.score + received)
        return answers

    def run_rounds(self, now: int, visit: Visit) -> None:
        """Rounds of one moment, until one brings nothing."""
        while self.run_round(now, visit):
            pass

    def _visited(self, old: Record, answer: Answer, now: int) -> Record:
        code = answer.code
        if code == 304:
            return self._again(replace(old, status=Status.DB_NOTMODIFIED), now)
        if code in PERMANENT + TEMPORARY:
            moved = Status.DB_REDIR_PERM if code in PERMANENT else Status.DB_REDIR_TEMP
            return self._again(replace(old, status=moved, signature=None), now)
        if code == 200:
            if answer.signature == old.signature:
                return self._again(replace(old, status=Status.DB_NOTMODIFIED), now)
            is_new = old.signature is None
            page = replace(old, status=Status.DB_FETCHED, signature=answer.signature)
            return self._again(page if is_new else replace(page, modified_time=now), now)
        if code in GONE or code == ROBOTS_SAY_NO:
            return self._gone(old, now)
        if old.retries + 1 < self.retry_max:
            return replace(
                old,
                status=Status.DB_UNFETCHED,
                fetch_time=now + DAY,
                retries=old.retries + 1,
            )
        return self._gone(replace(old, retries=min(old.retries + 1, self.retry_max)), now)

    def _again(self, record: Record, now: int) -> Record:
        return replace(
            record,
            fetch_time=now + record.fetch_interval * 1000,
            retries=0,
            modified_time=record.modified_time or now,
        )

    def _gone(self, record: Record, now: int) -> Record:
        longer = int(record.fetch_interval * 1.5)
        interval = longer if longer < self.longest else int(self.longest * 0.9)
        return replace(
            record,
            status=Status.DB_GONE,
            fetch_interval=interval,
            fetch_time=now + interval * 1000,
        )
