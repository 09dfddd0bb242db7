"""What is damaged in a crawl, its datasets and segments and what index writers have made; and the
repair of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from crawl.clock import Clock
from crawl.config import Config
from crawl.hints import command, index_anew
from crawl.model.derived_tables import INDEX
from crawl.phases.index.tasks.output_check import output_faults, unnoted_folders
from crawl.phases.index.tasks.outputs import FOLDERS
from crawl.phases.index.tasks.settle import settle_index
from crawl.storage.checking import CheckFault, CheckProgress, CheckResult, check
from crawl.storage.crawl_dir import CrawlDir, lock_timing
from crawl.storage.lock import LOCK_NAME, lock_owner
from crawl.storage.repair import repair
from crawl.storage.sealed_file import COPY

_LISTS = (FOLDERS, FOLDERS + COPY)
_OWN = (f"{INDEX.name}/CURRENT", f"{INDEX.name}/snapshots/")
"""What is the ledger's below the folder of the index."""


def check_crawl(
    directory: CrawlDir, *, deep: bool = False, progress: CheckProgress | None = None
) -> CheckResult:
    """Looks at the whole crawl and changes nothing."""
    result = check(directory, deep=deep, progress=progress)
    faults, looked = output_faults(directory, deep=deep)
    if faults:  # somebody may have published another index meanwhile
        faults, looked = output_faults(directory, deep=deep)
    return replace(result, faults=[*result.faults, *faults], files=result.files + looked)


def repair_crawl(
    directory: CrawlDir,
    checked: CheckResult,
    config: Config,
    clock: Clock,
    *,
    steal_lock: bool = False,
) -> list[str]:
    """Repairs what the check found; lines that tell what was done. What index writers have is
    brought to what the ledger names, which is all that can be done for it without their
    documents."""
    lines = repair(directory, checked, config, clock, steal_lock=steal_lock)
    if any(map(_is_of_index, checked.faults)):
        settled = settle_index(directory, "check", config, clock, steal_lock=steal_lock)
        lines += [f"index: {line}" for line in settled.lines()]
    return lines


def found_locks(
    directory: CrawlDir, config: Config, clock: Clock
) -> Iterator[tuple[str, str, str | None]]:
    """All locks of the crawl: the path, relative to the crawl's folder, the owner, and why that can
    no longer be at work; None where it may be."""
    now_ms, stale_after_ms = clock.now_ms(), lock_timing(config)["stale_after_ms"]
    root = directory.folder.address.rstrip("/") + "/"
    for folder in directory.lock_folders():
        owner = lock_owner(folder)
        if owner is not None:
            path = f"{folder.address.removeprefix(root)}/{LOCK_NAME}"
            yield path, owner.described(now_ms), owner.is_dead(now_ms, stale_after_ms)


def index_remarks(directory: CrawlDir, faults: list[CheckFault]) -> list[str]:
    """What is to be done about files of index writers. Nobody can repair them: they are made anew;
    but for the lists of them, which the ledger knows."""
    own = [fault for fault in faults if _is_of_index(fault)]
    anew = index_anew(directory.address)
    lists = [fault for fault in own if fault.path.rpartition("/")[2] in _LISTS]
    remarks = []
    if len(own) > len(lists):
        remarks.append(f"{len(own):,} files of the index are damaged: {anew}")
    elif lists:
        settle = command("check", directory.address, "--repair")
        remarks.append(
            f"{len(lists):,} lists of the index do not name what is published, as a job was"
            f" interrupted or they were damaged: `{settle}` writes them, and so does the next index"
        )
    unnoted = unnoted_folders(directory)
    if unnoted:
        many = "1 folder" if len(unnoted) == 1 else f"{len(unnoted):,} folders"
        remarks.append(
            f"{many} of the index (index/{unnoted[0]} …) were written before all files were noted"
            f" in the ledger, and are checked by their own lists alone: {anew}, noted"
        )
    return remarks


def _is_of_index(fault: CheckFault) -> bool:
    """Whether it is of what index writers have made, which may be outside of the crawl."""
    is_outside = "://" in fault.path or fault.path.startswith("/")
    is_below_index = fault.path.startswith(f"{INDEX.name}/")
    return is_outside or (is_below_index and not fault.path.startswith(_OWN))
