"""Plugins of somebody else, as an archive for --py-files, like a wheel renamed .zip.

They change nothing about a crawl. They report where they run and on which configuration, and
hold a fetch or an updatedb in its middle until a test has done what it wants to do meanwhile.
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
from crawl.plugins.protocol.http import HttpProtocol
from crawl.plugins.schedule.default import DefaultFetchSchedule

FOLDER = text("gated.folder", "", "Where the gate is.")
NOTE = file("gated.note.file", "note.txt", "A rule file of a third party.")


def pass_gate(folder, name):
    if (folder / f"{name}.shut").exists():
        (folder / f"{name}.{os.getpid()}.waits").touch()
        while (folder / f"{name}.shut").exists():
            time.sleep(0.02)


class GatedHttp:
    schemes = HttpProtocol.schemes

    def __init__(self, config):
        self.folder, self.http, self.sent = Path(config[FOLDER]), HttpProtocol(config), 0

    def fetch(self, request):
        self.sent += 1
        if self.sent == 1:
            pass_gate(self.folder, "first-request")
        if self.sent > 10:
            pass_gate(self.folder, "fetch")
        return self.http.fetch(request)

    def close(self):
        self.http.close()


class Gated(DefaultFetchSchedule):
    def __init__(self, config):
        super().__init__(config)
        self.folder = Path(config[FOLDER])
        self.report("schedule", config.read(NOTE))

    def report(self, who, note):
        report = {"code": crawl.__file__, "note": note, "spark": "pyspark.worker" in sys.modules}
        (self.folder / f"{who}-{os.getpid()}.json").write_text(json.dumps(report))

    def after_fetch(self, url, datum, **arguments):
        pass_gate(self.folder, "updatedb")
        return super().after_fetch(url, datum, **arguments)


class Witness:
    def __init__(self, config):
        self.folder, self.note = Path(config[FOLDER]), config.read(NOTE)

    def filter(self, page, parse):
        Gated.report(self, "parsefilter", self.note)
        return replace(parse, metadata={**parse.metadata, "witness": self.note.strip()})
"""
_ENTRY_POINTS = """
[nutria.protocol]
gated-http = third_party_gate:GatedHttp
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

    def shut(self, name: str) -> None:
        """Of a `fetch`, after some requests of each process; of its `first-request`; of an
        `updatedb`."""
        (self.folder / f"{name}.shut").touch()

    def open(self, name: str) -> None:
        (self.folder / f"{name}.shut").unlink(missing_ok=True)

    def first_waiting(self, name: str) -> int:
        """The process that waits at the gate."""

        return self.waiting(name, 1)[0]

    def waiting(self, name: str, count: int) -> list[int]:
        """The processes that wait at the gate, once there are so many."""

        def look() -> list[int] | None:
            found = [int(path.name.split(".")[1]) for path in self.folder.glob(f"{name}.*.waits")]
            return found if len(found) >= count else None

        return wait_for(look, f"{count} at work on {name}")

    def reports(self, who: str) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in self.folder.glob(f"{who}-*.json")]
