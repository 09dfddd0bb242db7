"""What index writers have made, by the ledger's snapshot: the files or folders of each shard.

    CRAWL_DIR/index/CURRENT, snapshots/…          the ledger (a dataset like the others)
    CRAWL_DIR/index/jsonl/part-00003-1f2e3d4c.jsonl …
    CRAWL_DIR/index/jsonl/FOLDERS                 their names, for whoever reads them alone

The snapshot names them, so that ledger and files change at one moment; what it does not name was
left by a job that died, or was replaced, and the next writer deletes it. FOLDERS follows the
snapshot before anything that it names is deleted (settle.py). The snapshot has the size and the
checksum of each file too, and of a folder those of the list of its files: whoever makes the next
one of it looks first whether it is as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import msgspec

from crawl.errors import UsageError
from crawl.hints import command
from crawl.model.derived_tables import INDEX
from crawl.phases.index.tasks.writers import WriterSpec
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.file_sum import FileSum
from crawl.storage.folder import Folder, absolute
from crawl.storage.manifest import Snapshot

FOLDERS = "FOLDERS"
OUTPUTS = "outputs"
"""The note of a snapshot that tells of them."""

SHARD_NAME = re.compile(r"part-\d{5}-[0-9a-f]{8}(?:\.[a-z0-9.]+)?")


class ShardOutput(NamedTuple):
    """What a writer has of one shard."""

    name: str
    """Of its file or folder."""
    sum: FileSum | None
    """Of the file, or of the list of the folder's files; None where nobody made one."""


@dataclass(frozen=True, slots=True)
class WriterOutput:
    """What a writer has: its folder, and the name that each shard has there."""

    address: str
    """Of the folder; empty for the writer's own in the crawl's, which may be moved."""
    shards: Mapping[int, str]
    """None for a shard that is empty, or kept by a server."""
    documents: Mapping[int, int]
    sums: Mapping[int, FileSum] = field(default_factory=dict)
    """Of a shard that is one file its own; of a folder that of the list of its files."""
    missed: tuple[str, ...] = ()
    """The segments that were indexed while the writer was not active."""

    @property
    def count(self) -> int:
        """How many documents it has."""
        return sum(self.documents.values())

    @property
    def names(self) -> list[str]:
        """Its files or folders, in the order of the shards."""
        return [name for _, name in sorted(self.shards.items())]

    @property
    def by_shard(self) -> dict[int, ShardOutput]:
        return {
            number: ShardOutput(name, self.sums.get(number)) for number, name in self.shards.items()
        }


def noted_outputs(snapshot: Snapshot | None) -> dict[str, WriterOutput]:
    """The outputs of every writer, by its id."""
    note = snapshot.notes.get(OUTPUTS, {}) if snapshot else {}
    return msgspec.convert(note, dict[str, WriterOutput], str_keys=True)


def missed_segments(ledger: Snapshot | None, writers: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The segments that the index has and a writer has not: those that were indexed before it
    was active for the first time, and in its pauses."""
    if ledger is None:
        return {}
    outputs = noted_outputs(ledger)
    every = tuple(sorted(ledger.applied))
    return {writer: outputs[writer].missed if writer in outputs else every for writer in writers}


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


def check_places(
    crawl_dir: CrawlDir,
    specs: Sequence[WriterSpec],
    ledger: Snapshot | None,
    *,
    rebuild: bool = False,
) -> None:
    """Raises UsageError where a writer's folder is another's, or not where its files are: what the
    ledger does not name there is deleted, so that another writer's files, or another crawl's,
    would be lost."""
    places = {
        writer: _place(noted_folder(crawl_dir, writer, output).address)
        for writer, output in noted_outputs(ledger).items()
        if output.shards
    }
    new_places = {spec.id: _place(output_folder(crawl_dir, spec).address) for spec in specs}
    for one, other in combinations(sorted({**places, **new_places}.items()), 2):
        if one[1] == other[1]:
            raise UsageError(
                f"the index writers {one[0]} and {other[0]} would have one folder, {one[1]}: give"
                " each a path of its own"
            )
    for spec in specs:
        place = places.get(spec.id)
        if place == new_places[spec.id]:
            continue
        folder = output_folder(crawl_dir, spec)
        if place is not None and not rebuild:
            raise UsageError(
                f"{spec.id}: its files are in {place}, and it is to write to {new_places[spec.id]}:"
                f" `{command('index', crawl_dir.address, '--rebuild')}` makes them anew there, and"
                " a writer of another id has both"
            )
        if output_address(spec) and folder.exists(FOLDERS):
            raise UsageError(
                f"{spec.id}: {folder.address} holds an index that is not this crawl's: give the"
                " writer another path, or delete what is there"
            )


def _place(address: str) -> str:
    """The address as no other folder has it."""
    if "://" in address.removeprefix("file://") or "::" in address:
        return address.rstrip("/")
    return str(Path(address.removeprefix("file://")).resolve())
