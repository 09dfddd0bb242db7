"""Which folders an embedded index consists of: a small sealed manifest beside them.

    CRAWL_DIR/index/tantivy/FOLDERS        {"folders": ["shard-0-1f2e", "shard-1-3d4c"]}
    CRAWL_DIR/index/tantivy/shard-0-1f2e/  what an EmbeddedIndexWriter wrote

`tantivy` is the writer's id there, which index-writers.toml may have given another name. A crawl's
ledger names the folders too, before this manifest does: it is heeded where it can be read.
A folder is never changed after it was published: the next state is another folder. So a search
that has opened them goes on undisturbed, and whoever has a copy need not ask whether it is old.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path

from crawl.errors import DamagedFile, NoSnapshot, StorageError
from crawl.hints import command, index_anew
from crawl.search.file_sums import folder_fault
from crawl.storage.file_sum import FileSum
from crawl.storage.folder import Folder, absolute
from crawl.storage.local_copies import fetch_tree
from crawl.storage.sealed_file import SealedFile

INDEX = "index"
EMBEDDED = "tantivy"
"""The plugin that writes such an index, and its writer's id unless it is given another."""
MANIFEST = "FOLDERS"
_PARTIAL = "copying-"


class EmbeddedFolders:
    """The published folders of one index."""

    def __init__(self, folder: Folder, ledger: Mapping[str, FileSum | None] | None = None) -> None:
        self.folder = folder
        self._ledger = ledger
        """The folders as the crawl's ledger names them, with the sums of their lists of files."""
        self._manifest = SealedFile(folder, MANIFEST, unsealed=False)

    @classmethod
    def of_crawl(cls, crawl_dir: str, writer: str = EMBEDDED) -> EmbeddedFolders:
        """Those that a writer has in a crawl's folder."""
        return cls(Folder(absolute(crawl_dir)).child(INDEX).child(writer))

    @property
    def lists(self) -> dict[str, FileSum]:
        """The sums of the lists of the folders' files, as far as they are known."""
        return {name: each for name, each in (self._ledger or {}).items() if each is not None}

    def names(self) -> list[str] | None:
        """The names of the folders; None where no index was ever published."""
        return self.listed() if self._ledger is None else list(self._ledger)

    def is_list_stale(self) -> bool:
        """Whether the manifest does not name what the ledger names."""
        try:
            return self._ledger is not None and self.listed() != list(self._ledger)
        except StorageError:
            return True

    def listed(self) -> list[str] | None:
        """The names by the manifest."""
        try:
            content = self._manifest.read()
        except DamagedFile as error:
            raise StorageError(f"{error.path} is damaged: {error.fault}: {index_anew()}") from error
        if content is None:
            return None
        names = content.get("folders")
        if not isinstance(names, list) or not all(map(_is_name, names)):
            raise StorageError(
                f"{self.folder.path(MANIFEST)} names no folders of an index: {index_anew()}"
            )
        return names

    def is_begun(self) -> bool:
        """Whether anything of an index is here."""
        return bool(self.folder.names())

    def _has_shards(self) -> bool:
        """Whether somebody wrote folders here."""
        return any(not name.startswith(MANIFEST) for name in self.folder.names())

    def require_paths(self, crawl_dir: str) -> list[str]:
        """The folders' paths on this machine's disk, copied there first where they are in a
        store; raises NoSnapshot where there is no index."""
        names = self.names()
        if names is None:
            if self._has_shards():
                raise StorageError(
                    f"{self.folder.path(MANIFEST)} is missing: {index_anew(crawl_dir)}"
                )
            hint = command("index", crawl_dir)
            raise NoSnapshot(f"{crawl_dir} has no embedded index yet: `{hint}` makes one")
        if self.folder.is_local():
            return [self.folder.path(name) for name in names]
        return _local_copies(self.folder, names, self.lists)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name) and "/" not in name and name not in (".", "..")


def _local_copies(folder: Folder, names: Iterable[str], lists: Mapping[str, FileSum]) -> list[str]:
    """The folders of an index in a store, on this disk: each is copied once, for it does not
    change, and is deleted when the index no longer has it. A copy that was damaged here is made
    once more."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nutria" / "index"
    place = cache / blake2b(folder.address.encode(), digest_size=16).hexdigest()
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    copies = [place / name for name in names]
    for copy in copies:
        expected = lists.get(copy.name)
        if expected is not None and copy.exists() and folder_fault(Folder(str(copy)), expected):
            shutil.rmtree(copy, ignore_errors=True)
        if not copy.exists():
            _copy(folder.child(copy.name), copy)
    for other in place.iterdir():
        if other not in copies and not other.name.startswith(_PARTIAL):
            shutil.rmtree(other, ignore_errors=True)
    return [str(copy) for copy in copies]


def _copy(folder: Folder, copy: Path) -> None:
    part = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=copy.parent))
    try:
        fetch_tree(folder, part)
        part.replace(copy)
    except OSError:
        if not copy.exists():  # somebody else was quicker
            raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
