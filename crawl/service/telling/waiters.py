"""Those who wait for the end of a job in this process."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock

from crawl.service.values import Finished


class Waiters:
    """Futures by the ids of jobs; for several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[str, list[Future[Finished]]] = {}

    def wait_for(self, job_id: str) -> Future[Finished]:
        """Done when the job ends. Whoever has waited long enough calls `give_up`."""
        future: Future[Finished] = Future()
        with self._lock:
            self._waiting.setdefault(job_id, []).append(future)
        return future

    def give_up(self, job_id: str, future: Future[Finished]) -> None:
        """Forgets one who waited."""
        with self._lock:
            futures = self._waiting.get(job_id, [])
            if future in futures:
                futures.remove(future)
            if not futures:
                self._waiting.pop(job_id, None)

    def waited_for(self) -> list[str]:
        """The jobs whose ends somebody waits for."""
        with self._lock:
            return list(self._waiting)

    def store(self, finished: Sequence[Finished]) -> None:
        """Nothing: who waits here dies with the process."""

    def tell(self, finished: Sequence[Finished]) -> None:
        """Tells those who wait for these jobs."""
        for each in finished:
            with self._lock:
                futures = self._waiting.pop(each.job, [])
            for future in futures:
                if future.set_running_or_notify_cancel():
                    future.set_result(each)
