"""The frame of a phase that publishes a table's next state: its report, lock and result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeVar

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_SNAPSHOTS_KEEP
from crawl.driver.prechecks import require_unlocked
from crawl.driver.timing import timed
from crawl.model.report import Report
from crawl.operations.results import PhaseResult
from crawl.operations.work import Work
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.snapshot import Dataset, Transaction
from crawl.tables.runner import Runner


class _Locking(Protocol):
    @property
    def steal_lock(self) -> bool: ...


Options = TypeVar("Options", bound=_Locking)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Published:
    """The state that a phase has published, and what it did."""

    state: Snapshot
    report: Report
    remarks: tuple[str, ...]
    """Lines for the operator."""
    took_over: str | None
    """What is said of a lock that was taken over; None where it was free."""
    segments: tuple[str, ...] = ()
    """Those that were taken in."""

    def result(self, *remarks: str) -> PhaseResult:
        """As an operation brings it, with further remarks behind those of the driver."""
        return PhaseResult.of(
            self.report,
            snapshot=self.state.number,
            segments=self.segments,
            remarks=(*self.remarks, *remarks, self.took_over),
        )


@dataclass(frozen=True, slots=True)
class PhaseRun:
    """One run of a phase, since it began."""

    crawl_dir: CrawlDir
    config: Config
    clock: Clock
    report: Report
    steal_lock: bool

    @classmethod
    def begin(
        cls, phase: str, crawl_dir: CrawlDir, config: Config, options: Any, clock: Clock
    ) -> PhaseRun:
        """The run that begins now; `options` are the phase's own, a dataclass."""
        report = Report(phase, clock.now_ms(), config.digest(), asdict(options))
        return cls(crawl_dir, config, clock, report, options.steal_lock)

    def writing(self, dataset: Dataset) -> AbstractContextManager[Transaction]:
        """Locks a dataset and lets a block publish."""
        phase = self.report.phase
        return self.crawl_dir.writing(
            dataset, phase, self.config, self.clock, steal_lock=self.steal_lock
        )

    def timed(self, step: str) -> AbstractContextManager[None]:
        """Adds the block's seconds and costs to the report."""
        return timed(self.report, step, self.clock)

    def publish(
        self,
        transaction: Transaction,
        files: Iterable[BucketFile],
        *,
        buckets: int,
        notes: dict[str, Any] | None = None,
        applying: Iterable[str] = (),
        attached: Mapping[str, Iterable[BucketFile]] | None = None,
    ) -> Snapshot:
        """Ends the report and makes the files the current state (see `Transaction.publish`)."""
        self.report.finished_ms = self.clock.now_ms()
        return transaction.publish(
            files,
            self.report,
            buckets=buckets,
            keep=self.config[CRAWLDB_SNAPSHOTS_KEEP],
            notes=notes,
            applying=applying,
            attached=attached,
        )


def read_crawldb(
    work: Work, read: Callable[[Runner, Snapshot], Result], number: int | None
) -> Result:
    """What `read` makes of the CrawlDb's current state, or of the snapshot of that number."""

    def read_state(state: Snapshot) -> Result:
        with work.runner(rows=state.rows) as runner:
            return read(runner, state)

    return work.directory.reading(read_state, number)


def run_when_free(
    work: Work,
    options: Options,
    folder: Folder,
    run: Callable[[Runner, CrawlDir, Config, Options, Clock], Result],
    *,
    rows: int | None = None,
) -> Result:
    """Runs a phase that writes to the folder, where the crawl can be written and nobody else
    writes there. `rows`: of what is read, where few are read faster in this process."""
    work.directory.require_writable()
    require_unlocked(folder, work.config, steal_lock=options.steal_lock)
    with work.runner(rows=rows) as runner:
        return run(runner, work.directory, work.config, options, work.clock)
