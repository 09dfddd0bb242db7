"""Plugins of somebody else, as an archive for --py-files, like a wheel renamed .zip.

They change nothing about a crawl. They tell where they run and on which configuration, and
`gated` holds an updatedb until a test has done what it wants to do meanwhile.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from tests.cluster.standalone import wait_for

_MODULE = """
import json, os, sys, time
from dataclasses import replace
from pathlib import Path

import crawl
from crawl.config import file, text
from crawl.plugins.schedule.default import DefaultFetchSchedule

FOLDER = text("gated.folder", "", "Where the gate is.")
NOTE = file("gated.note.file", "note.txt", "A rule file of a third party.")


class Gated(DefaultFetchSchedule):
    properties = (*DefaultFetchSchedule.properties, FOLDER, NOTE)

    def __init__(self, config):
        super().__init__(config)
        self.folder = Path(config[FOLDER])
        self.tell("schedule", config.read(NOTE))

    def tell(self, who, note):
        told = {"code": crawl.__file__, "note": note, "spark": "pyspark.worker" in sys.modules}
        (self.folder / f"{who}-{os.getpid()}.json").write_text(json.dumps(told))

    def after_fetch(self, url, datum, **told):
        if (self.folder / "shut").exists():
            (self.folder / f"{os.getpid()}.waits").touch()
            while (self.folder / "shut").exists():
                time.sleep(0.02)
        return super().after_fetch(url, datum, **told)


class Witness:
    properties = (FOLDER, NOTE)

    def __init__(self, config):
        self.folder, self.note = Path(config[FOLDER]), config.read(NOTE)

    def filter(self, page, parse):
        Gated.tell(self, "parsefilter", self.note)
        return replace(parse, metadata={**parse.metadata, "witness": self.note.strip()})
"""
_ENTRY_POINTS = """
[nutria.schedule]
gated = third_party_gate:Gated
[nutria.parsefilter]
witness = third_party_gate:Witness
"""
NOTE = "a rule of theirs\n"


def third_party_zip(folder: Path) -> Path:
    path = folder / "third_party.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("third_party_gate.py", _MODULE)
        archive.writestr("third_party-1.dist-info/METADATA", "Name: third-party\nVersion: 1\n")
        archive.writestr("third_party-1.dist-info/entry_points.txt", _ENTRY_POINTS)
    return path


class Gate:
    """The test's side of the plugins."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def shut(self) -> None:
        (self.folder / "shut").touch()

    def open(self) -> None:
        (self.folder / "shut").unlink(missing_ok=True)

    def first_waiting(self) -> int:
        """The process that waits at the gate."""
        found = wait_for(lambda: next(self.folder.glob("*.waits"), None), "an updatedb at work")
        return int(found.stem)

    def told(self, who: str) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in self.folder.glob(f"{who}-*.json")]
