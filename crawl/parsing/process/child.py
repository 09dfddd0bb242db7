"""The process in which pages are parsed: it receives batches and returns rows.

It is started by the sandbox, bounded in memory, and ended by the kernel's alarm if a page
takes too long, even when the sandbox itself is dead by then. Nothing that plugins print or
log gets out.
"""

from __future__ import annotations

import gc
import logging
import mmap
import os
import pickle
import select
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from crawl.clock import SystemClock
from crawl.model.contents import contents_of
from crawl.model.parse import ParseStatus
from crawl.parsing.document import PageFailure
from crawl.parsing.pipeline import Pipeline
from crawl.parsing.plan import ParsePlan
from crawl.parsing.process import messages
from crawl.parsing.process.pandas_left_out import leave_pandas_out
from crawl.parsing.settings import PARSER_MEMORY_LIMIT, PARSER_TIMEOUT

READY = b"ready"
_IDLE_S = 300
RARE_COLLECTIONS = (20_000, 20, 20)
"""A batch makes some thousand objects that all live until its end: looking for garbage among
them every 700 is in vain."""


def main(progress: int) -> None:
    """Serves until the parent is gone; `progress` is the descriptor of the shared memory."""
    requests, replies = _private_pipes()
    # the parent handles interrupts, and terminals that are closed
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process, whatever it is doing
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    leave_pandas_out()
    try:
        (plan,) = messages.receive(requests)
        parsing: ParsePlan = pickle.loads(plan)
        pipeline = Pipeline(parsing)
        memory = _limit_memory(parsing.config[PARSER_MEMORY_LIMIT])
        on_page = _progress_reporter(progress, parsing.config[PARSER_TIMEOUT])
        gc.freeze()
        gc.set_threshold(*RARE_COLLECTIONS)
        messages.send(replies, [READY])
        os.dup2(1, 2)  # discards stderr from now on: errors of the start have been reported
        while _has_request(requests):
            request = messages.receive(requests)
            try:
                answer = _answer(pipeline, request, on_page, memory)
            except Exception as error:
                answer = messages.pack_refusal(_failure(error))
            signal.setitimer(signal.ITIMER_REAL, 0)
            messages.send(replies, answer)
            del request, answer
    except messages.PeerGone:
        return


def _has_request(requests: IO[bytes]) -> bool:
    """Waits for a request or the end of the pipe; False after so long that nobody needs us."""
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    return bool(poll.poll(_IDLE_S * 1000))


def _answer(
    pipeline: Pipeline,
    request: list[bytes],
    on_page: Callable[[int], None],
    needs_restart: Callable[[], bool],
) -> list[Any]:
    contents, known_failures = messages.unpack_request(request)
    batch = pipeline.parse(list(contents_of(contents)), on_page, known_failures)
    earlier = sum(failure.status is ParseStatus.MEMORY for failure in known_failures.values())
    ran_out = batch.counters[f"parse.{ParseStatus.MEMORY.value}"] > earlier
    return messages.pack_reply(batch, needs_restart=ran_out or needs_restart())


def _failure(error: Exception) -> PageFailure:
    """The failure of a whole batch: in choosing links, or in making rows."""
    status = ParseStatus.MEMORY if isinstance(error, MemoryError) else ParseStatus.EXCEPTION
    return PageFailure(status, f"{type(error).__name__}: {error}")


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Our two pipes under private descriptors: a plugin that prints writes elsewhere."""
    requests = os.fdopen(os.dup(0), "rb", buffering=1 << 20)
    replies = os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)

    def cut() -> None:
        os.dup2(nothing, requests.fileno())
        os.dup2(nothing, replies.fileno())

    # a fork that a plugin makes must not answer beside us, nor hold our pipes open
    os.register_at_fork(after_in_child=cut)
    return requests, replies


def _progress_reporter(progress: int, timeout: float) -> Callable[[int], None]:
    """A callback that reports the page that begins, and sets the alarm for it."""
    shared = mmap.mmap(progress, messages.PROGRESS.size)
    clock = SystemClock()

    def on_page(page: int) -> None:
        messages.PROGRESS.pack_into(shared, 0, page, clock.monotonic())
        if timeout > 0:
            signal.setitimer(signal.ITIMER_REAL, timeout)

    return on_page


def _limit_memory(limit: int) -> Callable[[], bool]:
    """Limits the address space; returns a check whether half of the limit is used."""
    base = _address_space()
    if sys.platform == "win32" or limit <= 0 or base is None:
        return lambda: False
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = base + limit if hard == resource.RLIM_INFINITY else min(base + limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    return lambda: (_address_space() or 0) > base + limit // 2


def _address_space() -> int | None:
    """Bytes of our address space; None where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return pages * mmap.PAGESIZE
