"""The queue of the service where Kafka is behind it."""

from __future__ import annotations

from typing import cast

import pytest

from crawl.errors import StorageError
from crawl.model.status import Status
from crawl.service.intake.intake import entry_of
from crawl.service.kafka.backlog import Backlog
from crawl.service.kafka.client import Kafka
from crawl.service.kafka.jobs_queue import KafkaJobs
from crawl.service.kafka.messages import job_message_of
from crawl.service.kafka.partitions import Partitions
from crawl.service.pages import Pages
from crawl.service.settings import QueueBounds
from crawl.service.values import Job, Page, Priority, Wish
from tests.service.kafka.sending import FakeSender

URL = "http://www.a.test/1"


class KnownPages:
    def __init__(self, *pages: Page) -> None:
        self._pages = {page.url: page for page in pages}

    def get(self, urls: list[str]) -> list[Page | None]:
        return [self._pages.get(url) for url in urls]


class Made:
    """A queue with senders that a test looks at."""

    def __init__(self, *pages: Page) -> None:
        self.hasty, self.patient = FakeSender(), FakeSender()
        self.backlog = Backlog(cast(Kafka, None))
        self.queue = KafkaJobs(
            hasty=self.hasty.as_sender(),
            patient=self.patient.as_sender(),
            topic="p.jobs",
            backlog=self.backlog,
            bounds=QueueBounds((20, 100, 1000), 10),
        )
        self.queue.open(8, cast(Pages, KnownPages(*pages)))


def a_job(id: str, url: str = URL, *, depth: int = 0, crawl: str = "") -> Job:
    wish = Wish(url=url, depth=depth, crawl=crawl)
    return Job(id=id, wish=wish, url=url, submitted_ms=1)


def test_a_job_goes_to_the_partition_of_its_domain_with_what_is_known_of_its_page() -> None:
    page = Page(
        url=URL,
        status=int(Status.FETCH_SUCCESS),
        etag='"e"',
        last_modified="d",
        changed_ms=5,
        segment="s",
    )
    made = Made(page)
    job = a_job("1")
    assert made.queue.put([entry_of(job, "www.a.test")]).result(0) == 1
    (sent,) = made.hasty.sent
    assert (sent.topic, sent.partition) == ("p.jobs", Partitions(8).of_host("a.test"))
    message = job_message_of(sent.value or b"")
    assert message.job == job
    assert (message.etag, message.modified_ms) == ('"e"', 5)
    assert message.is_known
    assert made.queue.contains("1")
    assert made.queue.entry("1") == entry_of(job, "www.a.test")
    assert not made.queue.contains("2")


def test_what_brokers_do_not_take_is_told_but_for_links_which_wait() -> None:
    made = Made()
    made.hasty.fault = "no answer"
    with pytest.raises(StorageError, match="no answer"):
        made.queue.put([entry_of(a_job("1"), "www.a.test")]).result(0)
    link = a_job("2", depth=1, crawl="c")
    assert made.queue.put([entry_of(link, "www.a.test")]).result(0) == 1
    assert len(made.patient.sent) == 1


def test_jobs_are_found_while_their_result_is_stored() -> None:
    made = Made()
    first, second, other = a_job("1"), a_job("2"), a_job("3", "http://b.test/")
    made.queue.keep([first, second, other])
    found = made.queue.find([URL, "http://c.test/", URL])
    assert {url: [entry.id for entry in each] for url, each in found.items()} == {URL: ["1", "2"]}
    made.queue.finish(["1"]).result(0)
    hop = Job(id="2", wish=second.wish, url="http://hop.test/", submitted_ms=1)
    made.queue.replace([entry_of(hop, "hop.test", not_before_ms=7)]).result(0)
    assert made.queue.find([URL]) == {}
    message = job_message_of(made.patient.sent[0].value or b"")
    assert (message.job, message.not_before_ms) == (hop, 7)
    # one that its result does not end is its owner's again
    assert made.queue.release("3", 9).result(0)
    message = job_message_of(made.patient.sent[1].value or b"")
    assert (message.job, message.not_before_ms) == (other, 9)
    assert made.queue.find(["http://b.test/"]) == {}
    assert not made.queue.release("3", 9).result(0)


def test_what_was_not_delivered_is_known_still() -> None:
    made = Made()
    made.queue.keep([a_job("1")])
    made.patient.fault = "the service ends"
    with pytest.raises(StorageError):
        made.queue.replace([entry_of(a_job("1"), "www.a.test")]).result(0)
    with pytest.raises(StorageError):
        made.queue.release("1", 0).result(0)
    assert list(made.queue.find([URL])) == [URL]


def test_urgent_jobs_are_refused_when_usual_ones_are_and_not_sooner() -> None:
    made = Made()
    made.backlog.add(99)
    waiting = made.queue.count().waiting
    assert waiting == {Priority.HIGH: 19, Priority.NORMAL: 99, Priority.LOW: 99}
    made.backlog.add(1)
    waiting = made.queue.count().waiting
    assert waiting[Priority.HIGH] == 20  # its bound


def test_nothing_is_put_before_the_brokers_were_there() -> None:
    made = Made()
    queue = KafkaJobs(
        hasty=made.hasty.as_sender(),
        patient=made.patient.as_sender(),
        topic="p.jobs",
        backlog=made.backlog,
        bounds=QueueBounds((1, 1, 1), 1),
    )
    with pytest.raises(StorageError, match="not reached"):
        queue.put([entry_of(a_job("1"), "www.a.test")])
