"""What a killed service had noted of answers ends the jobs that wait for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from crawl.fetcher.values.record import FetchRecord
from crawl.model.status import Status
from crawl.service.finishing.recovered_answers import RecoveredAnswers
from crawl.service.intake.admission import Admission
from crawl.service.values import JobState, Wish
from crawl.storage.crawl_dir import CrawlDir
from crawl.testing.clock import ManualClock
from tests.service.parts_in_process import Parts
from tests.service.rolling import CONFIG, page, parses_of, roll_of

URL = "http://a.org/"
START_MS = 1_800_000_000_000


class Restart:
    """A service that noted answers and died; and the next one."""

    def __init__(self, tmp_path: Path) -> None:
        self.clock = ManualClock(START_MS)
        self.parts = Parts(tmp_path / "queue.sqlite", self.clock)
        self.directory = CrawlDir(str(tmp_path / "c"))

    def noted(self, *records: FetchRecord) -> None:
        """It died behind the note."""
        roll = roll_of(self.directory, clock=self.clock)
        roll.add(records, parses_of(records))
        roll.abandon()
        self.parts.close()
        self.parts.begin()

    def begin(self) -> None:
        parts = self.parts
        admission = Admission.of(CONFIG, parts.counters)
        recovered = RecoveredAnswers(parts.queue, parts.pages, admission, parts.counters)
        roll = roll_of(self.directory, clock=self.clock)
        roll.recover(recovered.take)
        roll.close()
        parts.dispatch()


@pytest.fixture
def restart(tmp_path: Path) -> Iterator[Restart]:
    made = Restart(tmp_path)
    yield made
    made.parts.close()


def answered(url: str = URL, status: Status = Status.FETCH_SUCCESS, **of: object) -> FetchRecord:
    record = page(url, status=status)
    datum = replace(record.datum, fetch_time=START_MS + 1000)
    return replace(record, datum=datum, **of)  # type: ignore[arg-type]


def test_a_job_ends_with_the_answer_that_was_noted(restart: Restart) -> None:
    restart.parts.submit(Wish(url=URL, max_age_s=0.0))
    restart.noted(answered())
    restart.begin()
    (finished,) = restart.parts.heard.stored
    (segment,) = restart.directory.segments.generated()
    assert finished.state is JobState.FINISHED and finished.page is not None
    assert (finished.page.segment, finished.page.fetched_ms) == (segment.name, START_MS + 1000)
    assert finished.page.signature, "it was parsed"
    assert restart.parts.lane.fed == {}
    assert restart.parts.counters["answers_recovered"] == 1


def test_a_redirect_that_was_noted_is_followed(restart: Restart) -> None:
    restart.parts.submit(Wish(url=URL))
    restart.noted(answered(status=Status.FETCH_REDIR_TEMP, location="http://b.org/"))
    restart.begin()
    restart.parts.dispatch()
    assert list(restart.parts.lane.fed) == ["http://b.org/"]


@pytest.mark.parametrize(
    ("wish", "status"),
    [
        (Wish(url=URL), Status.FETCH_RETRY),
        (Wish(url=URL, crawl="c1"), Status.FETCH_SUCCESS),
        (Wish(url=URL, formats=("markdown",)), Status.FETCH_SUCCESS),
    ],
    ids=["failed", "links", "markdown"],
)
def test_what_a_note_is_not_enough_for_is_asked_for_again(
    restart: Restart, wish: Wish, status: Status
) -> None:
    restart.parts.submit(wish)
    restart.noted(answered(status=status))
    restart.begin()
    assert restart.parts.heard.stored == []
    assert list(restart.parts.lane.fed) == [URL]


def test_what_nobody_waits_for_and_what_is_known_is_left_as_it_is(restart: Restart) -> None:
    restart.noted(answered(), answered("http://b.org/"))
    restart.begin()
    assert restart.parts.pages.get([URL, "http://b.org/"]) == [None, None]
    assert restart.parts.counters["answers_recovered"] == 0
