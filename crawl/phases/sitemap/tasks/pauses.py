"""The pauses that servers are owed for what earlier waves asked of them, as a task takes them up:
those of its own servers at once, those of others when it meets one."""

from __future__ import annotations

from crawl.fetcher.frontier.queue import ServerState
from crawl.fetcher.hand_over import read_server_states
from crawl.fetcher.values.hooks import KnownServer
from crawl.phases.sitemap.tasks.values import SitemapJob, SitemapList
from crawl.storage.layout import bucket_of


class EarlierPauses:
    """What a wave's files of pauses say."""

    def __init__(self, job: SitemapJob, file: SitemapList, *, is_alone: bool) -> None:
        """A task that is alone may ask any server, so that all are its own."""
        self._job = job
        wanted = range(len(job.pauses)) if is_alone else [file.number]
        self._read: dict[int, dict[str, ServerState]] = {}
        self.own = [state for number in wanted for state in self._states(number).values()]
        """Those that the engine has from the beginning."""
        self._read = {number: {} for number in wanted}

    def take(self, key: str) -> KnownServer | None:
        """What a server of another destination is owed, in the engine's time; once."""
        if not self._job.pauses:
            return None
        state = self._states(bucket_of(key, len(self._job.pauses))).pop(key, None)
        if state is None:
            return None
        ready_at = self._job.clock.monotonic() + state.pause_s
        return KnownServer(ready_at, state.exceptions, state.min_delay_s, state.wait_reason)

    def _states(self, number: int) -> dict[str, ServerState]:
        found = self._read.get(number)
        if found is None:
            piece = self._job.pauses[number] if number < len(self._job.pauses) else None
            pieces = [] if piece is None else [piece]
            states = read_server_states(self._job.scratch, pieces, self._job.clock.now_ms())
            found = self._read[number] = {state.key: state for state in states}
        return found
