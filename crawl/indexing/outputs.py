"""What index writers have made, by the ledger's snapshot: the files or folders of each shard.

    CRAWL_DIR/index/CURRENT, snapshots/…          the ledger (a dataset like the others)
    CRAWL_DIR/index/jsonl/part-00003-1f2e3d4c.jsonl …
    CRAWL_DIR/index/jsonl/FOLDERS                 their names, for whoever reads them alone

The snapshot names them, so that ledger and files change at one moment; what it does not name was
left by a job that died, or was replaced, and the next writer deletes it. FOLDERS follows the
snapshot before anything that it names is deleted. The snapshot has the size and the checksum of
each file too: whoever makes the next one of it looks first whether it is as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from crawl.errors import DamagedFile, NoSnapshot
from crawl.hints import command
from crawl.indexing.sent_notes import JOB, job_of, note_names
from crawl.indexing.writers import WriterSpec
from crawl.model.derived_tables import INDEX
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder, absolute
from crawl.storage.manifest import Snapshot
from crawl.storage.sealed_file import SealedFile

FOLDERS = "FOLDERS"
OUTPUTS = "outputs"
"""The note of a snapshot that tells of them."""

_BLOCK = 1 << 20
_NAME = re.compile(r"part-\d{5}-[0-9a-f]{8}(?:\.[a-z0-9.]+)?")


@dataclass(frozen=True, slots=True)
class FileSum:
    """How long a file is, and its CRC-32."""

    bytes: int
    crc: int


@dataclass(frozen=True, slots=True)
class WriterOutput:
    """What a writer has: its folder, and the name that each shard has there."""

    address: str
    """Of the folder; empty for the writer's own in the crawl's, which may be moved."""
    shards: Mapping[int, str]
    """None for a shard that is empty, or kept by a server."""
    documents: Mapping[int, int]
    sums: Mapping[int, FileSum] = field(default_factory=dict)
    """Of shards that are one file."""
    missed: tuple[str, ...] = ()
    """The segments that were indexed while the writer was not active."""

    def as_note(self) -> dict[str, Any]:
        return {
            "address": self.address,
            "shards": {str(number): name for number, name in sorted(self.shards.items())},
            "documents": {str(number): count for number, count in sorted(self.documents.items())},
            "sums": {
                str(number): [each.bytes, each.crc] for number, each in sorted(self.sums.items())
            },
            "missed": list(self.missed),
        }


def noted_outputs(snapshot: Snapshot | None) -> dict[str, WriterOutput]:
    """The outputs of every writer, by its id."""
    note = snapshot.notes.get(OUTPUTS, {}) if snapshot else {}
    return {
        writer: WriterOutput(
            str(each["address"]),
            {int(number): str(name) for number, name in each["shards"].items()},
            {int(number): int(count) for number, count in each["documents"].items()},
            {int(number): FileSum(*values) for number, values in each.get("sums", {}).items()},
            tuple(map(str, each.get("missed", ()))),
        )
        for writer, each in note.items()
    }


def missed_segments(ledger: Snapshot | None, writers: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The segments that the index has and a writer has not: those that were indexed before it
    was active for the first time, and in its pauses."""
    if ledger is None:
        return {}
    outputs = noted_outputs(ledger)
    every = tuple(sorted(ledger.applied))
    return {writer: outputs[writer].missed if writer in outputs else every for writer in writers}


def committed_outputs(crawl_dir: CrawlDir, writer: str) -> list[str]:
    """The whole paths of what a writer has, a shard each; raises NoSnapshot where it was never
    given anything."""
    found = noted_outputs(crawl_dir.dataset(INDEX).current()).get(writer)
    if found is None:
        raise NoSnapshot(
            f"{crawl_dir.address} has no index of the writer {writer}: make one with"
            f" `{command('index', crawl_dir.address)}`"
        )
    folder = noted_folder(crawl_dir, writer, found)
    return [folder.path(name) for _, name in sorted(found.shards.items())]


def noted_folder(crawl_dir: CrawlDir, writer: str, output: WriterOutput) -> Folder:
    """Where the files of an output are."""
    own = crawl_dir.folder.child(INDEX.name).child(writer)
    return Folder(output.address) if output.address else own


def output_address(spec: WriterSpec) -> str:
    """Where a writer's files go; empty: into its own folder in the crawl's."""
    path = spec.parameters.get("path")
    return absolute(str(path)) if path else ""


def output_folder(crawl_dir: CrawlDir, spec: WriterSpec) -> Folder:
    """Where a writer's files go."""
    address = output_address(spec)
    return Folder(address) if address else crawl_dir.folder.child(INDEX.name).child(spec.id)


def settle_outputs(
    crawl_dir: CrawlDir, specs: Iterable[WriterSpec], snapshot: Snapshot | None
) -> int:
    """Brings FOLDERS up to date and deletes what the snapshot does not name; only for whoever
    holds the ledger's lock. How many files it deletes."""
    outputs = noted_outputs(snapshot)
    swept = 0
    for spec in specs:
        folder = output_folder(crawl_dir, spec)
        output = outputs.get(spec.id)
        known: set[str] = set()
        if output is not None and output.address == output_address(spec):
            known = set(output.shards.values())
        if known:
            names = [name for _, name in sorted(output.shards.items())] if output else []
            _note_folders(folder, names)
        done = snapshot.notes.get(JOB) if snapshot else None
        for name in note_names(folder):
            if job_of(name) == done:
                folder.delete(name)
        for name in folder.names():
            if _NAME.fullmatch(name) and name not in known:
                folder.delete(name)
                swept += 1
    return swept


def _note_folders(folder: Folder, names: list[str]) -> None:
    """Writes FOLDERS where it says something else; a damaged one too, for all that it says is
    known."""
    note = SealedFile(folder, FOLDERS, unsealed=False)
    try:
        if (note.read() or {}).get("folders") == names:
            note.heal()
            return
    except DamagedFile:
        for name in (note.name, note.copy):
            folder.delete(name)
    note.write({"folders": names})


def file_fault(folder: Folder, name: str, expected: FileSum | None, *, deep: bool) -> str:
    """What is wrong with a file; empty where nothing is. `deep`: all of it is read."""
    size = folder.size(name)
    if size is None:
        return "it is missing"
    if expected is None:
        return ""
    if size != expected.bytes:
        return f"it has {size:,} bytes and should have {expected.bytes:,}"
    if deep:
        crc = 0
        with folder.open_read(name) as stream:
            while block := stream.read(_BLOCK):
                crc = crc32(block, crc)
        if crc != expected.crc:
            return "its checksum is wrong"
    return ""
