"""What follows the publication of an index: FOLDERS of every writer names what the ledger names,
and what the ledger does not name is deleted.

The ledger's pointer is the moment of publication; whoever dies behind it leaves the rest of it
undone. So the next command that holds the ledger's lock settles all outputs before it decides
anything: `index` and `clean`, whichever writers they are for, `check --repair` and `gc`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import DamagedFile, StorageError
from crawl.model.derived_tables import INDEX
from crawl.phases.index.tasks.outputs import (
    FOLDERS,
    SHARD_NAME,
    noted_folder,
    noted_outputs,
    output_address,
    output_folder,
)
from crawl.phases.index.tasks.sent_notes import JOB, job_of, note_names
from crawl.phases.index.tasks.writers import WriterSpec
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.manifest import Snapshot
from crawl.storage.sealed_file import SealedFile


@dataclass(frozen=True, slots=True)
class SettledOutputs:
    """What was found to be undone, and is done."""

    listed: tuple[str, ...] = ()
    """The writers whose FOLDERS did not say what the ledger says."""
    deleted: int = 0
    """Files and folders that the ledger does not name."""

    def __bool__(self) -> bool:
        return bool(self.listed or self.deleted)

    def lines(self) -> list[str]:
        """The lines that say what was repaired."""
        lines = []
        if self.listed:
            lines.append(
                f"{FOLDERS} of {', '.join(self.listed)} did not name what is published, as a job"
                " was interrupted or the file was damaged; now it does"
            )
        if self.deleted:
            many = "1 file" if self.deleted == 1 else f"{self.deleted:,} files"
            lines.append(f"deleted {many} that are not of the index and that a job had left")
        return lines


@dataclass(frozen=True, slots=True)
class _Output:
    """The folder of a writer, and what the ledger says of it."""

    writer: str
    folder: Folder
    names: list[str]
    job: str | None
    """The job that published it."""
    is_elsewhere: bool = False
    """Whether the folder is not in the crawl's, where the ledger's lock sweeps half files away."""
    is_noted: bool = True
    """Whether the ledger knows of it: then it has nothing where it names nothing."""

    def needs_list(self) -> bool:
        """Whether FOLDERS or its copy says something else."""
        if not self.is_noted:
            return False
        note = self._note()
        copies = [note.state_of(name) for name in (note.name, note.copy)]
        if not self.names and all(each.raw is None for each in copies):
            return False
        return any((each.content or {}).get("folders") != self.names for each in copies)

    def write_list(self) -> None:
        """A damaged one too, for all that it says is known."""
        note = self._note()
        try:
            if (note.read() or {}).get("folders") == self.names:
                note.heal()
                return
        except DamagedFile:
            for name in (note.name, note.copy):
                self.folder.delete(name)
        note.write({"folders": self.names})

    def stray(self) -> list[str]:
        """What nobody needs any more: shards that the ledger does not name, and notes of what was
        sent by a job that has published."""
        notes = [name for name in note_names(self.folder) if job_of(name) == self.job]
        shards = (name for name in self.folder.names() if SHARD_NAME.fullmatch(name))
        return [*notes, *(name for name in shards if name not in self.names)]

    def is_there(self) -> bool:
        """Whether the folder has what the ledger names; their names are random, so that no other
        crawl's has."""
        return bool(self.names) and set(self.names) <= set(self.folder.names())

    def _note(self) -> SealedFile:
        return SealedFile(self.folder, FOLDERS, unsealed=False)


def settle_outputs(
    crawl_dir: CrawlDir, specs: Iterable[WriterSpec], snapshot: Snapshot | None
) -> SettledOutputs:
    """Brings every writer's FOLDERS up to date and deletes what the snapshot does not name, of the
    active writers (`specs`) and of all others that the ledger knows; only for whoever holds the
    ledger's lock."""
    listed: list[str] = []
    deleted = 0
    for output in _outputs(crawl_dir, specs, snapshot):
        if output.needs_list():
            output.write_list()
            listed.append(output.writer)
        for name in output.stray():
            output.folder.delete(name)
            deleted += 1
        if output.is_elsewhere:
            output.folder.drop_uploads()
    return SettledOutputs(tuple(listed), deleted)


def settle_index(
    crawl_dir: CrawlDir,
    command: str,
    config: Config,
    clock: Clock,
    specs: Sequence[WriterSpec] = (),
    *,
    steal_lock: bool = False,
) -> SettledOutputs:
    """Brings what every writer has to what the ledger says, under the ledger's lock; where nothing
    is to be done, no lock is taken. A ledger that cannot be read says nothing."""
    dataset = crawl_dir.dataset(INDEX)
    try:
        ledger = dataset.current()
    except StorageError:
        return SettledOutputs()
    if not is_unsettled(crawl_dir, specs, ledger):
        return SettledOutputs()
    with crawl_dir.writing(dataset, command, config, clock, steal_lock=steal_lock) as transaction:
        return settle_outputs(crawl_dir, specs, transaction.base)


def is_unsettled(
    crawl_dir: CrawlDir, specs: Iterable[WriterSpec], snapshot: Snapshot | None
) -> bool:
    """Whether there is anything for `settle_outputs` to do; looks without a lock."""
    return any(
        output.needs_list() or output.stray() for output in _outputs(crawl_dir, specs, snapshot)
    )


def _outputs(
    crawl_dir: CrawlDir, specs: Iterable[WriterSpec], snapshot: Snapshot | None
) -> Iterator[_Output]:
    noted = noted_outputs(snapshot)
    job = snapshot.notes.get(JOB) if snapshot else None
    others = dict(noted)
    for spec in specs:
        others.pop(spec.id, None)
        present, address = noted.get(spec.id), output_address(spec)
        names = present.names if present and present.address == address else None
        folder = output_folder(crawl_dir, spec)
        yield _Output(spec.id, folder, names or [], job, bool(address), names is not None)
    for writer, present in others.items():
        folder = noted_folder(crawl_dir, writer, present)
        output = _Output(writer, folder, present.names, job, bool(present.address))
        if output.is_there():
            yield output
