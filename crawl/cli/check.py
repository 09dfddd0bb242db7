"""crawl check."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict, dataclass

import click

from crawl.cli.common.options import crawl_dir_argument, json_option, steal_lock_option, with_config
from crawl.cli.common.output import print_json, print_table, remark
from crawl.cli.common.progress import terminal_display
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.driver.prechecks import require_folder
from crawl.phases.check.locks import found_locks
from crawl.phases.check.run import check_crawl, index_remarks, repair_crawl
from crawl.storage.checking import CheckFault, CheckProgress, CheckResult
from crawl.storage.crawl_dir import CrawlDir
from crawl.telemetry.progress import shown_progress

FAULTS_FOUND = 1


@click.command("check")
@crawl_dir_argument
@click.option("--deep", is_flag=True, help="Read every page of every file, and look at its rows.")
@click.option(
    "--repair",
    "repairs",
    is_flag=True,
    help="Restore the newest intact state; damaged files go to CRAWL_DIR/quarantine.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress, only results and errors.")
@json_option
@steal_lock_option
@with_config
def command(
    crawl_dir: str,
    deep: bool,
    repairs: bool,
    quiet: bool,
    as_json: bool,
    steal_lock: bool,
    config: Config,
) -> int:
    """Find damage in CRAWL_DIR: every pointer, manifest, mark and table file of the CrawlDb, the
    segments, LinkDb, link graph, HostDb and index, and the files of index writers. Exit code 0 if
    all is intact, 1 if something is damaged. What a killed command left, such as its lock or a copy
    that it did not come to write, is told and is no damage.

    A table file is checked by its size, footer and row count; --deep reads all of it and
    verifies checksums and the order of rows. --repair deletes nothing: the CrawlDb goes back
    to the newest intact snapshot, a segment to its last intact step (lost pages are fetched
    again), and leftovers are moved to CRAWL_DIR/quarantine. Of a LinkDb, link graph, HostDb or
    index without an intact snapshot all is moved there, so that invertlinks, webgraph,
    updatehostdb or index can make it anew. Of index writers the lists of files are written anew,
    where an index was interrupted; the files themselves are not repaired: `crawl index CRAWL_DIR
    --rebuild` makes them anew. Its exit code is 0 if all is intact afterwards.

    \b
    Examples:
      crawl check mycrawl
      crawl check mycrawl --deep --json
      crawl check mycrawl --deep --repair
    """
    directory = CrawlDir(crawl_dir)
    require_folder(directory)
    clock = SystemClock()
    found = _check(directory, deep=deep, quiet=quiet)
    locks = found_locks(directory, config, clock)
    for lock in locks:
        if lock.dead is None and (found.faults or found.leftovers):
            remark(f"check: somebody is writing here: {lock.owner}")
    dead = [CheckFault(lock.path, f"{lock.owner}: {lock.dead}") for lock in locks if lock.dead]
    leftovers = [*found.leftovers, *dead]
    done: list[str] = []
    left = found
    if repairs and (found.faults or leftovers):
        done = repair_crawl(directory, found, config, clock, steal_lock=steal_lock)
        left = _check(directory, deep=deep, quiet=quiet)
    if as_json:
        print_json(
            {
                "files": found.files,
                "rows": found.rows,
                "faults": [asdict(fault) for fault in found.faults],
                "leftovers": [asdict(each) for each in leftovers],
                **(
                    {"done": done, "left": [asdict(each) for each in left.faults]}
                    if repairs
                    else {}
                ),
            }
        )
    else:
        _show_leftovers(crawl_dir, leftovers, repairs=repairs)
        _show(crawl_dir, found, done, left, repairs=repairs)
        for advice in index_remarks(directory, left.faults):
            remark(f"check: {advice}")
    return FAULTS_FOUND if left.faults else 0


def _show_leftovers(crawl_dir: str, leftovers: list[CheckFault], *, repairs: bool) -> None:
    if not leftovers:
        return
    rows = [[each.path, each.fault] for each in leftovers]
    print_table("left by killed commands", ["file", "what it is"], rows)
    remark(
        "check: mended what killed commands left"
        if repairs
        else "check: that is no damage: the next command that writes there mends it, or"
        f" `crawl check {crawl_dir} --repair`"
    )


def _show(
    crawl_dir: str, found: CheckResult, done: list[str], left: CheckResult, *, repairs: bool
) -> None:
    if found.faults:
        rows = [[fault.path, fault.fault] for fault in found.faults]
        print_table("damage", ["file", "problem"], rows)
    for line in done:
        remark(f"check: {line}")
    files = f"{found.files:,} files of {crawl_dir}"
    if not found.faults:
        remark(f"check: no damage in {files}")
    elif not repairs:
        remark(
            f"check: {len(found.faults):,} faults in {files};"
            f" `crawl check {crawl_dir} --repair` restores the newest intact state"
        )
    elif left.faults:
        remark(f"check: {len(left.faults):,} faults remain: {left.faults[0].path} …")
    else:
        remark(f"check: repaired; the {left.files:,} remaining files are intact")


@dataclass(frozen=True, slots=True)
class _CheckView:
    """How many files are checked, as a display takes it."""

    progress: CheckProgress

    @property
    def done(self) -> int:
        return self.progress.done

    @property
    def total(self) -> int:
        return self.progress.total

    @property
    def pace(self) -> str:
        return "files"

    @property
    def remaining(self) -> str:
        return ""

    def __str__(self) -> str:
        return f"{self.done:,} of {self.total:,} files"


def _check(directory: CrawlDir, *, deep: bool, quiet: bool) -> CheckResult:
    progress = CheckProgress()

    def look() -> _CheckView | None:
        return _CheckView(progress) if progress.total else None

    with nullcontext() if quiet else shown_progress(terminal_display("check"), look):
        return check_crawl(directory, deep=deep, progress=progress)
