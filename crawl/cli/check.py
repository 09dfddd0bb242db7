"""crawl check."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import click

from crawl.cli.options import crawl_dir_argument, force_option, json_option, with_config
from crawl.cli.output import print_json, print_table, remark
from crawl.cli.showing import showing
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import UsageError
from crawl.storage.checking import CheckProgress, CheckResult, check
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import lock_owner
from crawl.storage.repair import repair

FAULTS_FOUND = 1


@click.command("check")
@crawl_dir_argument
@click.option("--deep", is_flag=True, help="Read every page of every file, and look at its rows.")
@click.option(
    "--repair",
    "repairs",
    is_flag=True,
    help="Go back to the newest whole state; what is damaged goes to CRAWL_DIR/quarantine.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress, only results and errors.")
@json_option
@force_option
@with_config
def command(
    crawl_dir: str,
    deep: bool,
    repairs: bool,
    quiet: bool,
    as_json: bool,
    force: bool,
    config: Config,
) -> int:
    """Look for damage in CRAWL_DIR: every pointer, manifest, mark and table file of the CrawlDb
    and the segments. Exit code 0 if all is whole, 1 if something is not.

    A table file is judged by its size, footer and row count; --deep verifies all its
    checksums and the order of its rows, and reads all there is. --repair deletes nothing:
    the CrawlDb goes to the newest whole snapshot, a segment back to its last whole step (lost
    pages are fetched again), and what is left over is moved to CRAWL_DIR/quarantine. It exits
    with 0 if all is whole after it.

    \b
    Examples:
      crawl check mycrawl
      crawl check mycrawl --deep --json
      crawl check mycrawl --deep --repair
    """
    directory = CrawlDir(crawl_dir)
    if not directory.folder.exists():
        raise UsageError(f"{crawl_dir}: there is no such crawl")
    found = _check(directory, deep=deep, quiet=quiet)
    holder = lock_owner(directory.crawldb.folder)
    if found.faults and holder is not None:
        clock = SystemClock()
        remark(f"check: somebody is writing here: {holder.described(clock.now_ms())}")
    done: list[str] = []
    left = found
    if repairs and found.faults:
        done = repair(directory, found, config, SystemClock(), force=force)
        left = _check(directory, deep=deep, quiet=quiet)
    if as_json:
        print_json(
            {
                "files": found.files,
                "rows": found.rows,
                "faults": [asdict(fault) for fault in found.faults],
                **(
                    {"done": done, "left": [asdict(each) for each in left.faults]}
                    if repairs
                    else {}
                ),
            }
        )
    else:
        _show(crawl_dir, found, done, left, repairs=repairs)
    return FAULTS_FOUND if left.faults else 0


def _show(
    crawl_dir: str, found: CheckResult, done: list[str], left: CheckResult, *, repairs: bool
) -> None:
    if found.faults:
        rows = [[fault.path, fault.fault] for fault in found.faults]
        print_table("damage", ["file", "what is wrong"], rows)
    for line in done:
        remark(f"check: {line}")
    files = f"{found.files:,} files of {crawl_dir}"
    if not found.faults:
        remark(f"check: {files} are whole")
    elif not repairs:
        remark(
            f"check: {len(found.faults):,} faults in {files};"
            f" `crawl check {crawl_dir} --repair` goes back to the newest whole state"
        )
    elif left.faults:
        remark(f"check: {len(left.faults):,} faults are left: {left.faults[0].path} …")
    else:
        remark(f"check: repaired; all is whole that is left, {left.files:,} files")


@dataclass(frozen=True, slots=True)
class _Shown:
    """As the display takes it: what it calls URLs are files here."""

    progress: CheckProgress

    @property
    def done(self) -> int:
        return self.progress.done

    @property
    def urls(self) -> int:
        return self.progress.total

    @property
    def pace(self) -> str:
        return "files"

    @property
    def left(self) -> str:
        return ""

    def __str__(self) -> str:
        return f"{self.done:,} of {self.urls:,} files"


def _check(directory: CrawlDir, *, deep: bool, quiet: bool) -> CheckResult:
    progress = CheckProgress()
    with showing("check", lambda: _Shown(progress) if progress.total else None, quiet=quiet):
        return check(directory, deep=deep, progress=progress)
