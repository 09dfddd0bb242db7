"""What is damaged in a crawl, its datasets and segments and what index writers have made; and the
repair of it."""

from __future__ import annotations

from dataclasses import replace

from crawl.clock import Clock
from crawl.config import Config
from crawl.hints import command, index_anew
from crawl.model.derived_tables import INDEX
from crawl.phases.index.tasks.output_check import output_faults, unnoted_folders
from crawl.phases.index.tasks.outputs import FOLDERS
from crawl.phases.index.tasks.settle import settle_index
from crawl.storage.checking import CheckFault, CheckProgress, CheckResult, check
from crawl.storage.crawl_dir import CrawlDir
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


def index_remarks(directory: CrawlDir, faults: list[CheckFault]) -> list[str]:
    """What is to be done about files of index writers. Nobody can repair them: they are made anew;
    but for the lists of them, which the ledger knows."""
    own = [fault for fault in faults if _is_of_index(fault)]
    lists = [fault for fault in own if fault.path.rpartition("/")[2] in _LISTS]
    remarks = []
    if len(own) > len(lists):
        remarks.append(f"{len(own):,} files of the index are damaged: {_anew(directory)}")
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
            f" in the ledger, and are checked by their own lists alone: {_anew(directory)}, noted"
        )
    return remarks


def _anew(directory: CrawlDir) -> str:
    return index_anew(directory.address)


def _is_of_index(fault: CheckFault) -> bool:
    """Whether it is of what index writers have made."""
    return not _is_of_another(fault.path)


def _is_of_another(path: str) -> bool:
    is_outside = "://" in path or path.startswith("/")
    return not is_outside and (not path.startswith(f"{INDEX.name}/") or path.startswith(_OWN))
