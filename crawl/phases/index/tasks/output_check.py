"""Whether what index writers have made is as it was written, as `crawl check` asks."""

from __future__ import annotations

from collections.abc import Iterator

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
    try:
        outputs = noted_outputs(directory.dataset(INDEX).current())
    except StorageError:
        return [], 0
    faults: list[CheckFault] = []
    looked = 0
    for writer, output in sorted(outputs.items()):
        if not output.shards:
            continue  # a server's, or nothing was ever written
        folder = noted_folder(directory, writer, output)
        where = folder.address if output.address else f"{INDEX.name}/{writer}"
        for name, fault in _looked_at(folder, output, deep=deep):
            looked += 1
            if fault:
                faults.append(CheckFault(f"{where}/{name}", fault))
    return faults, looked


def unnoted_folders(directory: CrawlDir) -> list[str]:
    """Folders of the index whose list of files the ledger does not vouch for: those of a release
    that did not note it. They are searched, and checked as far as their own list goes."""
    try:
        outputs = noted_outputs(directory.dataset(INDEX).current())
    except StorageError:
        return []
    found = []
    for writer, output in sorted(outputs.items()):
        folder = noted_folder(directory, writer, output)
        for shard, name in sorted(output.shards.items()):
            if shard not in output.sums and has_noted_files(folder.child(name)):
                found.append(f"{writer}/{name}")
    return found


def _looked_at(folder: Folder, output: WriterOutput, *, deep: bool) -> Iterator[tuple[str, str]]:
    """Names of files or folders, and what is wrong with each."""
    for shard, name in sorted(output.shards.items()):
        expected = output.sums.get(shard)
        try:
            if folder.size(name) is None:
                yield name, _fault_of_folder(folder.child(name), expected, deep=deep)
            else:
                yield name, file_fault(folder, name, expected, deep=deep)
        except StorageError as error:
            yield name, str(error)
    note = SealedFile(folder, FOLDERS, unsealed=False)
    names = [name for _, name in sorted(output.shards.items())]
    for name in (note.name, note.copy):
        try:
            yield name, _fault_of_note(note, name, names)
        except StorageError as error:
            yield name, str(error)


def _fault_of_note(note: SealedFile, name: str, names: list[str]) -> str:
    """Of FOLDERS or its copy."""
    found = note.state_of(name)
    if found.content is None:
        return found.fault or "it is missing"
    return "" if found.content.get("folders") == names else "it names other files than the ledger"


def _fault_of_folder(folder: Folder, expected: FileSum | None, *, deep: bool) -> str:
    """Of a shard that is a folder, or is not there."""
    if not folder.files():
        return "it is missing"
    if not has_noted_files(folder):
        return "the list of its files is missing"
    return folder_fault(folder, expected, deep=deep)
