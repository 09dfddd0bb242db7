"""Whether what index writers have made is as it was written, as `crawl check` asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from crawl.errors import StorageError
from crawl.model.derived_tables import INDEX
from crawl.phases.index.tasks.outputs import FOLDERS, WriterOutput, noted_folder, noted_outputs
from crawl.search.file_sums import folder_fault, has_noted_files
from crawl.storage.checking import CheckFault
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.file_sum import FileSum, file_fault
from crawl.storage.folder import Folder
from crawl.storage.sealed_file import SealedFile


def output_faults(directory: CrawlDir, *, deep: bool = False) -> tuple[list[CheckFault], int]:
    """What is damaged of the writers' files, and at how many was looked. A ledger that cannot
    be read is told by the check of datasets."""
    faults: list[CheckFault] = []
    looked = 0
    for writer, output, folder in _outputs(directory):
        if not output.shards:
            continue  # a server's, or nothing was ever written
        where = folder.address if output.address else f"{INDEX.name}/{writer}"
        for name, fault_of in _checks(folder, output, deep=deep):
            looked += 1
            try:
                fault = fault_of()
            except StorageError as error:
                fault = str(error)
            if fault:
                faults.append(CheckFault(f"{where}/{name}", fault))
    return faults, looked


def unnoted_folders(directory: CrawlDir) -> list[str]:
    """Folders of the index whose list of files the ledger does not vouch for: those of a release
    that did not note it. They are searched, and checked as far as their own list goes."""
    return [
        f"{writer}/{name}"
        for writer, output, folder in _outputs(directory)
        for shard, name in sorted(output.shards.items())
        if shard not in output.sums and has_noted_files(folder.child(name))
    ]


def _outputs(directory: CrawlDir) -> Iterator[tuple[str, WriterOutput, Folder]]:
    """What each writer has, and where; none where the ledger cannot be read."""
    try:
        outputs = noted_outputs(directory.dataset(INDEX).current())
    except StorageError:
        return
    for writer, output in sorted(outputs.items()):
        yield writer, output, noted_folder(directory, writer, output)


def _checks(
    folder: Folder, output: WriterOutput, *, deep: bool
) -> Iterator[tuple[str, Callable[[], str]]]:
    """Names of files or folders, each with the check that says what is wrong with it."""
    for shard, name in sorted(output.shards.items()):
        yield name, partial(_fault_of_shard, folder, name, output.sums.get(shard), deep=deep)
    note = SealedFile(folder, FOLDERS, unsealed=False)
    for name in (note.name, note.copy):
        yield name, partial(_fault_of_note, note, name, output.names)


def _fault_of_note(note: SealedFile, name: str, names: list[str]) -> str:
    """Of FOLDERS or its copy."""
    copy = note.state_of(name)
    if copy.content is None:
        return copy.fault or "it is missing"
    return "" if copy.content.get("folders") == names else "it names other files than the ledger"


def _fault_of_shard(parent: Folder, name: str, expected: FileSum | None, *, deep: bool) -> str:
    """Of a file, or of a folder; or of what is not there."""
    if parent.size(name) is not None:
        return file_fault(parent, name, expected, deep=deep)
    folder = parent.child(name)
    if not folder.files():
        return "it is missing"
    if not has_noted_files(folder):
        return "the list of its files is missing"
    return folder_fault(folder, expected, deep=deep)
