"""Where damaged files go, and what was done with them: nothing that a repair cannot use is
deleted."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field

from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.snapshot import REPORT

QUARANTINE = "quarantine"
"""The folder in the crawl's."""


@dataclass(slots=True)
class Quarantine:
    """A repair under way: what is damaged, and what was done."""

    directory: CrawlDir
    bad: frozenset[str]
    """Paths with a fault, by the check."""
    place: str
    """Where what is set aside goes."""
    actions: list[str] = field(default_factory=list)

    def set_aside(self, path: str) -> None:
        """Moves a file, or all that is below a folder, out of the way."""
        root = self.directory.folder
        names = (
            [path]
            if root.size(path) is not None
            else [f"{path}/{name}" for name in root.files(path)]
        )
        for name in names:
            _move(root, name, f"{self.place}/{name}")
        if names:
            self.actions.append(f"moved {path} to {self.place}")
        root.delete(path)  # what is left of a folder

    def reports(self, where: str) -> None:
        """A damaged report is as good as none."""
        for path in sorted(self.bad):
            if path.startswith(f"{where}/") and path.endswith(f"/{REPORT}"):
                self.set_aside(path)


def _move(root: Folder, name: str, target: str) -> None:
    with root.open_read(name) as source, root.open_write(target) as sink:
        shutil.copyfileobj(source, sink)
    root.delete(name)
