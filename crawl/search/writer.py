"""Writes one folder of the embedded index.

A folder has one writer at a time. What `commit` has returned of is on disk; a process that dies
leaves the last commit, of which there may be more than were asked for. `start_from` makes a folder
that begins as another one, which stays as it is: so the next state of an index is written beside
the one that is searched.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Self

import tantivy

from crawl.errors import Locked, StorageError
from crawl.hints import index_anew
from crawl.search import schema as fields_of
from crawl.search.file_sums import (
    FILES_FILE,
    FORMAT_FILE,
    META_FILES,
    is_passing,
    note_files,
    noted_files,
    require_whole,
    write_atomically,
)
from crawl.search.record import DocumentMaker, key_of, url_of
from crawl.search.schema import FORMAT, register_analyzers, schema
from crawl.search.settings import STORED_CHARACTERS
from crawl.storage.file_sum import FileSum

_HEAP_BYTES = 64 << 20
_SMALLEST_HEAP = 15_000_000
"""Bytes that tantivy wants for a thread at least."""
_DELETIONS_PER_COMMIT = 20_000
"""tantivy holds what is to be deleted in memory until a commit, more than a kilobyte for each."""


class EmbeddedIndexWriter:
    """Adds, replaces and deletes documents of one folder, by URL."""

    def __init__(
        self,
        folder: str,
        heap_bytes: int = _HEAP_BYTES,
        stored_characters: int = STORED_CHARACTERS,
    ) -> None:
        """Makes the folder, or goes on with the one that is there. Raises Locked where somebody
        else writes it, and StorageError where it is of another format. `heap_bytes`: memory for
        documents that are not on disk yet; `stored_characters`: of a page's text, for snippets."""
        self.folder = folder
        self._maker = DocumentMaker(stored_characters)
        with _faults_named(folder):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self._sums = noted_files(folder) or {}
            (Path(folder) / FILES_FILE).unlink(missing_ok=True)  # files are to change
            self._index = open_index(folder, create=True)
            # a task has one core
            self._writer = self._index.writer(max(heap_bytes, _SMALLEST_HEAP), num_threads=1)
        self._is_open = True
        self._deleted = 0

    @classmethod
    def start_from(cls, base: str, folder: str, *settings: int) -> EmbeddedIndexWriter:
        """A writer of a new folder, with its settings, that has all that another one contains.
        Files are linked where the disk can, so that it takes a moment and no room."""
        _check_format(base)  # first: of another one is no damage
        require_whole(base, deep=True)
        with _faults_named(folder):
            link_folder(base, folder)
        return cls(folder, *settings)

    def add(self, fields: Mapping[str, object], *, replaces: bool = True) -> None:
        """Adds a document (its fields: record.py), in place of the one with the same URL; where
        it is known that there is none, `replaces=False` saves looking for it."""
        document = self._maker.document(fields)
        if replaces:
            self.delete(url_of(fields))
        with _faults_named(self.folder):
            self._writer.add_document(document)

    def delete(self, url: str) -> None:
        """Deletes the document of a URL, if there is one."""
        if self._deleted >= _DELETIONS_PER_COMMIT:
            self.commit()
        with _faults_named(self.folder):
            self._writer.delete_documents_by_term(fields_of.URL, key_of(url))
        self._deleted += 1

    def commit(self) -> None:
        """Makes all that was added and deleted so far last, and visible to those who open the
        folder from now on."""
        with _faults_named(self.folder):
            self._writer.commit()
        self._deleted = 0

    def close(self) -> None:
        """Waits for what is done in the background and gives the folder free; what was not
        committed is lost."""
        if self._is_open:
            self._is_open = False
            with _faults_named(self.folder):
                self._writer.rollback()
                self._writer.wait_merging_threads()
                note_files(self.folder, self._sums)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None and self._is_open:
            self.commit()
        self.close()


def open_index(folder: str, *, create: bool = False, files: FileSum | None = None) -> tantivy.Index:
    """The index of a folder, which must be of this release's format. `files` is the sum of the list
    of its files, where it is known."""
    place = Path(folder)
    if not create:
        check_folder(folder, files)
    elif (place / "meta.json").exists():
        _check_format(folder)
    else:
        # first: whoever finds an index there, or goes on after a death, is to know its format
        note = {"format": FORMAT, "tantivy": version("tantivy")}
        write_atomically(place / FORMAT_FILE, json.dumps(note).encode())
        tantivy.Index(schema(), folder)
    index = tantivy.Index.open(folder)
    register_analyzers(index)
    return index


def check_folder(folder: str, files: FileSum | None = None) -> None:
    """Raises StorageError where a folder is no index, or is of another release's format, or is
    damaged. `files` is the sum of the list of its files, where it is known."""
    if not (Path(folder) / "meta.json").exists():
        raise StorageError(f"{folder} is no folder of an embedded index: {index_anew()}")
    _check_format(folder)
    require_whole(folder, files)


def link_folder(base: str, folder: str) -> None:
    """Makes a folder with the committed files of another."""
    Path(folder).mkdir(parents=True)
    for source in sorted(Path(base).iterdir()):
        name, target = source.name, Path(folder) / source.name
        if is_passing(name):
            continue
        if name in META_FILES:
            shutil.copyfile(source, target)
            continue
        try:
            target.hardlink_to(source)
        except OSError:  # of another disk, or one that cannot link
            shutil.copyfile(source, target)


def _check_format(folder: str) -> None:
    try:
        note = json.loads((Path(folder) / FORMAT_FILE).read_bytes())
    except (FileNotFoundError, ValueError):
        note = None
    number = note.get("format") if isinstance(note, dict) else None
    if number != FORMAT:
        of_what = "of an unknown format" if number is None else f"of format {number}"
        raise StorageError(
            f"the index in {folder} is {of_what}, and this release reads format {FORMAT}:"
            f" {index_anew()}"
        )


@contextmanager
def _faults_named(folder: str) -> Iterator[None]:
    """tantivy's faults as ours, with the folder's name."""
    try:
        yield
    except ValueError as error:
        line = " ".join(str(error).split())
        if "LockBusy" in line or "Lock" in line:
            raise Locked(f"the index in {folder} is being written by another process") from error
        raise StorageError(f"the index in {folder}: {line}") from error
    except OSError as error:
        raise StorageError(f"the index in {folder}: {error}") from error
