"""What is damaged in a crawl: its datasets and segments, and what index writers have made."""

from __future__ import annotations

from dataclasses import replace

from crawl.hints import index_anew
from crawl.indexing.output_check import output_faults
from crawl.model.derived_tables import INDEX
from crawl.storage.checking import CheckFault, CheckProgress, CheckResult, check
from crawl.storage.crawl_dir import CrawlDir

_OWN = (f"{INDEX.name}/CURRENT", f"{INDEX.name}/snapshots/")
"""What is the ledger's below the folder of the index."""


def check_crawl(
    directory: CrawlDir, *, deep: bool = False, progress: CheckProgress | None = None
) -> CheckResult:
    """Looks at the whole crawl and changes nothing."""
    found = check(directory, deep=deep, progress=progress)
    faults, looked = output_faults(directory, deep=deep)
    if faults:  # somebody may have published another index meanwhile
        faults, looked = output_faults(directory, deep=deep)
    return replace(found, faults=[*found.faults, *faults], files=found.files + looked)


def index_remark(directory: CrawlDir, faults: list[CheckFault]) -> str | None:
    """What is to be done about files of index writers, which nobody can repair: they are made
    anew."""
    own = [fault for fault in faults if not _is_of_another(fault.path)]
    if not own:
        return None
    return f"{len(own):,} files of the index are damaged: {index_anew(directory.address)}"


def _is_of_another(path: str) -> bool:
    is_outside = "://" in path or path.startswith("/")
    return not is_outside and (not path.startswith(f"{INDEX.name}/") or path.startswith(_OWN))
