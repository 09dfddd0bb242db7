"""Which folders an embedded index consists of: a small sealed manifest beside them.

    CRAWL_DIR/index/tantivy/FOLDERS        {"folders": ["shard-0-1f2e", "shard-1-3d4c"]}
    CRAWL_DIR/index/tantivy/shard-0-1f2e/  what an EmbeddedIndexWriter wrote

A folder is never changed after it was published: the next state is another folder. So a search
that has opened them goes on undisturbed, and whoever has a copy need not ask whether it is old.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

from crawl.errors import NothingToDo, StorageError
from crawl.hints import command
from crawl.storage.folder import Folder, absolute
from crawl.storage.sealed_file import SealedFile

INDEX = "index"
EMBEDDED = "tantivy"
MANIFEST = "FOLDERS"


class EmbeddedFolders:
    """The published folders of one index."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._manifest = SealedFile(folder, MANIFEST, unsealed=False)

    @classmethod
    def of_crawl(cls, crawl_dir: str) -> EmbeddedFolders:
        """Those of a crawl's folder."""
        return cls(Folder(absolute(crawl_dir)).child(INDEX).child(EMBEDDED))

    def names(self) -> list[str] | None:
        """The names of the folders; None where no index was ever published."""
        content = self._manifest.read()
        if content is None:
            return None
        names = content.get("folders")
        if not isinstance(names, list) or not all(map(_is_name, names)):
            raise StorageError(f"{self.folder.path(MANIFEST)} names no folders of an index")
        return names

    def publish(self, names: Iterable[str]) -> None:
        """Makes these folders the index, all at once."""
        self._manifest.write({"folders": list(names)})

    def sweep(self) -> int:
        """Deletes folders that are not of the index, such as those of a writer that died; only
        for whoever has the right to write there. How many they were."""
        kept = set(self.names() or ())
        swept = 0
        for name in self.folder.names():
            if name not in kept and _is_name(name) and not name.startswith(MANIFEST):
                for file in self.folder.files(name):
                    self.folder.child(name).delete(file)
                if self.folder.is_local():
                    shutil.rmtree(self.folder.path(name), ignore_errors=True)
                swept += 1
        return swept

    def require_paths(self, crawl_dir: str) -> list[str]:
        """The folders' paths on this machine's disk, copied there first where they are in a
        store; raises NothingToDo where there is no index."""
        names = self.names()
        if names is None:
            hint = command("index", crawl_dir)
            raise NothingToDo(f"{crawl_dir} has no embedded index yet: `{hint}` makes one")
        if self.folder.is_local():
            return [self.folder.path(name) for name in names]
        return [_local_copy(self.folder.child(name)) for name in names]


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name) and "/" not in name and name not in (".", "..")


def _local_copy(folder: Folder) -> str:
    """The folder of a store on this disk: copied once, for it does not change."""
    above = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nutria" / "index"
    copy = above / blake2b(folder.address.encode(), digest_size=16).hexdigest()
    if copy.exists():
        return str(copy)
    above.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = Path(tempfile.mkdtemp(dir=above))
    try:
        for name in folder.files():
            with folder.open_read(name) as source, (part / name).open("wb") as target:
                shutil.copyfileobj(source, target)
        part.replace(copy)
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
        if not copy.exists():  # somebody else was quicker
            raise
    return str(copy)
