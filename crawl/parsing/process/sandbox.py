"""Sandbox: parses pages in a child process that may hang, crash or eat memory.

A page at which the child ends is recorded as failed, with the reason; the child is started
anew and all other pages are parsed. The child is a fresh interpreter and no fork: whoever
parses may have threads, and may be a Spark worker.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.clock import Clock, SystemClock
from crawl.errors import EnvironmentFault
from crawl.model.content import Content
from crawl.model.contents import content_table
from crawl.model.tables import CONTENT
from crawl.parsing.document import PageFailure, ParsedBatch, join_batches
from crawl.parsing.plan import ParsePlan
from crawl.parsing.process import messages
from crawl.parsing.process.parser_process import ParserProcess, acquire, release
from crawl.parsing.settings import PARSER_TIMEOUT

_BATCH_PAGES = 256
_BATCH_BYTES = 8 << 20
"""A batch is what is parsed again when its child dies: not too much, a quarter of a second.
Links and rows of one of 256 take half the time of those of four of 64."""


def _nobody(pages: int) -> None:
    """For whoever does not ask how far it is."""


@dataclass(frozen=True, slots=True)
class _BatchFault:
    """How the child failed, and at which page of a batch."""

    failure: PageFailure
    page: int | None
    """None where no single page can be blamed."""


class Sandbox:
    """Parses in a child, which is started when first needed or by `start`. For one thread."""

    def __init__(self, parsing: ParsePlan, clock: Clock | None = None) -> None:
        self._plan = pickle.dumps(parsing)
        self._timeout: float = parsing.config[PARSER_TIMEOUT]
        self._clock = clock or SystemClock()
        self._child: ParserProcess | None = None
        self._on_page: Callable[[int], None] = _nobody
        """Told of the page of a batch that is under way."""
        self._awaits_reply = False
        """Whether a reply is due: such a child is of no use to anybody else."""

    def start(self) -> None:
        """Starts the child, so that it is ready by the time that there are pages; another
        where it has gone meanwhile."""
        if self._child is not None and not self._child.can_serve(self._plan):
            self._end_child()
        if self._child is None:
            self._child = acquire(self._plan, self._clock)

    def parse(self, contents: Sequence[Content]) -> ParsedBatch:
        """The rows of all pages, in their order; those that ended a child among them."""
        return self.parse_table(content_table(list(contents)))

    def parse_table(self, contents: pa.Table) -> ParsedBatch:
        """The same for rows of a content table."""
        return join_batches(list(self.parse_batches(contents)))

    def parse_batches(
        self, contents: pa.Table, on_progress: Callable[[int], None] = _nobody, before: int = 0
    ) -> Iterator[ParsedBatch]:
        """The same, some pages after the other. `on_progress` is called now and then with how many
        are done, also while a batch is under way, and those `before` count too."""

        def report(page: int) -> None:
            on_progress(page_count + page)

        page_count = before
        for batch in _batches(_without_headers(contents)):
            self._on_page = report
            yield self._parse_batch(batch, {})
            page_count += batch.num_rows
            on_progress(page_count)

    def close(self) -> None:
        """Leaves the child to the next sandbox of this process with the same plan."""
        if self._awaits_reply or self._child is None:
            self._end_child()
        else:
            release(self._child)
            self._child = None

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _parse_batch(self, batch: pa.Table, known_failures: dict[int, PageFailure]) -> ParsedBatch:
        """The batch's rows. After a fault the pages before the one at fault are parsed again,
        that page is recorded as failed, and the rest follows."""
        answer = self._exchange(batch, known_failures)
        if isinstance(answer, ParsedBatch):
            return answer
        parts: list[tuple[pa.Table, dict[int, PageFailure]]]
        if answer.page is None and batch.num_rows > 1:
            middle = batch.num_rows // 2  # it is one of them: each half is tried by itself
            parts = [(batch.slice(0, middle), {}), (batch.slice(middle), {})]
        elif known_failures:
            raise EnvironmentFault(
                f"{batch['url'][0].as_py()}: the parser's process fails even if it is not to"
                f" parse the page: {answer.failure.message}"
            )
        else:
            page = answer.page or 0
            parts = [
                (batch.slice(0, page), {}),
                (batch.slice(page, 1), {0: answer.failure}),
                (batch.slice(page + 1), {}),
            ]
        result = join_batches(
            [self._parse_batch(part, failures) for part, failures in parts if part.num_rows]
        )
        result.counters["parser_restarts"] += 1
        return result

    def _exchange(
        self, batch: pa.Table, known_failures: dict[int, PageFailure]
    ) -> ParsedBatch | _BatchFault:
        self.start()
        child = self._child
        assert child is not None
        self._awaits_reply = True
        try:
            child.wait_until_ready()
            child.clear_progress()
            messages.send(child.requests, messages.pack_request(batch, known_failures))
            child.wait(self._timeout, self._on_page)
            rows, is_worn = messages.unpack_reply(messages.receive(child.replies))
        except messages.BatchRefused as refused:
            self._end_child()
            return _BatchFault(refused.failure, None)
        except (messages.PeerGone, OSError, ValueError, KeyError, TypeError, pa.ArrowException):
            # it died, or its reply cannot be read
            self._child = None
            page = child.progress()[0]
            if page == messages.NO_PAGE and child.has_answered:
                return self._exchange(batch, known_failures)  # it died while it had nothing to do
            return _BatchFault(child.failure(), page if 0 <= page < batch.num_rows else None)
        self._awaits_reply = False
        child.has_answered = True
        if is_worn:
            self._end_child()
        return rows


def _without_headers(contents: pa.Table) -> pa.Table:
    """The contents without the stored heads, which parsers never see."""
    nothing = pa.repeat(pa.scalar(b"", pa.binary()), contents.num_rows)
    for name in ("request_headers", "response_headers"):
        place = CONTENT.names.index(name)
        contents = contents.set_column(place, contents.schema.field(name), nothing)
    return contents


def _batches(contents: pa.Table) -> Iterator[pa.Table]:
    """Slices of some pages and some bytes; one at least, so that there are always rows."""
    ends = np.cumsum(pc.binary_length(contents["content"]).to_numpy())
    start, size = 0, contents.num_rows
    while start < size:
        before = int(ends[start - 1]) if start else 0
        within = int(np.searchsorted(ends, before + _BATCH_BYTES, "right"))
        stop = min(max(start + 1, within), start + _BATCH_PAGES, size)
        yield contents.slice(start, stop - start)
        start = stop
    if size == 0:
        yield contents
