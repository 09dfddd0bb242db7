"""What index writers have made, by the ledger's snapshot: the files or folders of each shard.

    CRAWL_DIR/index/CURRENT, snapshots/…          the ledger (a dataset like the others)
    CRAWL_DIR/index/jsonl/part-00003-1f2e3d4c.jsonl.gz …

The snapshot names them, so that ledger and files change at one moment; what it does not name was
left by a job that died, or was replaced, and the next writer deletes it.
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

OUTPUTS = "outputs"
"""The note of a snapshot that tells of them."""

_NAME = re.compile(r"part-\d{5}-[0-9a-f]{8}(?:\.[a-z0-9.]+)?")


@dataclass(frozen=True, slots=True)
class WriterOutput:
    """What a writer has: its folder, and the name that each shard has there."""

    address: str
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
    folder = Folder(found.address)
    return [folder.path(name) for _, name in sorted(found.shards.items())]


def output_folder(crawl_dir: CrawlDir, spec: WriterSpec) -> Folder:
    """Where a writer's files go."""
    path = spec.parameters.get("path")
    if path:
        return Folder(absolute(str(path)))
    return crawl_dir.folder.child(INDEX.name).child(spec.id)


def sweep_outputs(folders: Iterable[tuple[str, Folder]], snapshot: Snapshot | None) -> int:
    """Deletes what no snapshot names; only for whoever holds the ledger's lock. How many."""
    outputs = noted_outputs(snapshot)
    swept = 0
    for writer, folder in folders:
        output = outputs.get(writer)
        known = set(output.shards.values()) if output and output.address == folder.address else ()
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
