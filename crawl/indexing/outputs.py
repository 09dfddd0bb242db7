"""What index writers have made, by the ledger's snapshot: the files or folders of each shard.

    CRAWL_DIR/index/CURRENT, snapshots/…          the ledger (a dataset like the others)
    CRAWL_DIR/index/jsonl/part-00003-1f2e3d4c.jsonl …
    CRAWL_DIR/index/jsonl/FOLDERS                 their names, for whoever reads them alone

The snapshot names them, so that ledger and files change at one moment; what it does not name was
left by a job that died, or was replaced, and the next writer deletes it. FOLDERS follows the
snapshot before anything that it names is deleted.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, Any

from crawl.errors import NoSnapshot, StorageError
from crawl.hints import command
from crawl.indexing.writers import WriterSpec
from crawl.model.tables import INDEX
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder, absolute
from crawl.storage.manifest import Snapshot
from crawl.storage.sealed_file import SealedFile

FOLDERS = "FOLDERS"
OUTPUTS = "outputs"
"""The note of a snapshot that tells of them."""

_NAME = re.compile(r"part-\d{5}-[0-9a-f]{8}(?:\.[a-z0-9.]+)?")


@dataclass(frozen=True, slots=True)
class WriterOutput:
    """What a writer has: its folder, and the name that each shard has there."""

    address: str
    """Of the folder; empty for the writer's own in the crawl's, which may be moved."""
    shards: Mapping[int, str]
    """None for a shard that is empty, or kept by a server."""
    documents: Mapping[int, int]

    def as_note(self) -> dict[str, Any]:
        return {
            "address": self.address,
            "shards": {str(number): name for number, name in sorted(self.shards.items())},
            "documents": {str(number): count for number, count in sorted(self.documents.items())},
        }


def noted_outputs(snapshot: Snapshot | None) -> dict[str, WriterOutput]:
    """The outputs of every writer, by its id."""
    note = snapshot.notes.get(OUTPUTS, {}) if snapshot else {}
    return {
        writer: WriterOutput(
            str(each["address"]),
            {int(number): str(name) for number, name in each["shards"].items()},
            {int(number): int(count) for number, count in each["documents"].items()},
        )
        for writer, each in note.items()
    }


def committed_outputs(crawl_dir: CrawlDir, writer: str) -> list[str]:
    """The whole paths of what a writer has, a shard each; raises NoSnapshot where it was never
    given anything."""
    found = noted_outputs(crawl_dir.dataset(INDEX).current()).get(writer)
    if found is None:
        raise NoSnapshot(
            f"{crawl_dir.address} has no index of the writer {writer}: make one with"
            f" `{command('index', crawl_dir.address)}`"
        )
    own = crawl_dir.folder.child(INDEX.name).child(writer)
    folder = Folder(found.address) if found.address else own
    return [folder.path(name) for _, name in sorted(found.shards.items())]


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
            note = SealedFile(folder, FOLDERS, unsealed=False)
            if (note.read() or {}).get("folders") != names:
                note.write({"folders": names})
        for name in folder.names():
            if _NAME.fullmatch(name) and name not in known:
                folder.delete(name)
                swept += 1
    return swept


@dataclass(frozen=True, slots=True)
class ShardPlace:
    """A shard of a writer's output, as `crawl.interfaces.indexwriter.Shard` has it."""

    number: int
    folder: Folder
    base: str | None = None

    def new_name(self, suffix: str) -> str:
        return f"part-{self.number:05d}-{uuid.uuid4().hex[:8]}{suffix}"

    def open_read(self, name: str) -> AbstractContextManager[IO[bytes]]:
        return self.folder.open_read(name)

    def open_write(self, name: str) -> AbstractContextManager[IO[bytes]]:
        return self.folder.open_write(name)

    def local_path(self, name: str) -> str:
        if not self.folder.is_local():
            raise StorageError(
                f"{self.folder.address} is not on this machine's disk, as this index writer needs;"
                " set its parameter `path`"
            )
        path = self.folder.path(name)
        return path.removeprefix("file://")
