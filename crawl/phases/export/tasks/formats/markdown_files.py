"""Records as Markdown files: `HOST/PATH-HASH.md`, each with its data as YAML front matter.

Names are made of a URL's letters and digits alone, and are bounded; the hash of the whole URL
tells two apart that look the same then. What a page says of itself is written as JSON, which is
YAML, so that no title can add a line to the front matter.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import date

from crawl.parsing.fields.rules import COLUMN_PREFIX
from crawl.phases.export.tasks.formats.jsonl import iso_time
from crawl.phases.export.tasks.record import Record
from crawl.storage.folder import Folder
from crawl.urls.parse import parse

_UNSAFE = re.compile(r"[^a-z0-9._-]+")
_DOTS = re.compile(r"\.{2,}")
_LONGEST_HOST = 100
_LONGEST_PATH = 80
_HASH = 16
_SHOWN = (
    *("url", "title", "language", "change", "canonical", "license", "published", "mime_type"),
    *("signature", "content_hash", "text_kind"),
)


def file_name(url: str) -> str:
    """The name of a page's file: plain letters on any file system, whatever the URL is."""
    parts = parse(url)
    host = _plain(parts.host if parts else "", _LONGEST_HOST) or "unknown"
    path = _plain(parts.path if parts else "", _LONGEST_PATH) or "index"
    digest = hashlib.sha256(url.encode("utf-8", "replace")).hexdigest()[:_HASH]
    return f"{host}/{path}-{digest}.md"


def _plain(text: str, most: int) -> str:
    plain = _UNSAFE.sub("-", text[: 4 * most].lower())
    return _DOTS.sub(".", plain)[:most].strip("-._")


def front_matter(record: Record) -> str:
    """The lines before the text."""
    lines = [f"{name}: {_json(record[name])}" for name in _SHOWN if record[name]]
    lines += [
        f"{name}: {_json(iso_time(record[name]))}"
        for name in ("fetched_at", "modified_at")
        if record[name] is not None
    ]
    quality = record["quality"] or {}
    lines += [f"{name}: {quality[name]}" for name in ("words", "characters") if name in quality]
    lines += [
        f"{name}: {_json(value)}"
        for name, value in record.items()
        if name.startswith(COLUMN_PREFIX) and value is not None
    ]
    return "---\n" + "\n".join(lines) + "\n---\n\n"


def _json(value: object) -> str:
    """On one line, in ASCII: YAML takes more characters for line ends than JSON does."""
    return json.dumps(value, ensure_ascii=True, default=_iso)


def _iso(value: object) -> str:
    """Of a date or a moment."""
    return value.isoformat() if isinstance(value, date) else str(value)


class MarkdownFiles:
    """Writes a file a record. Whoever tries again writes the same files."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self.records = 0
        self.bytes = 0

    def write(self, record: Record) -> None:
        data = (front_matter(record) + record["text"] + "\n").encode("utf-8", "replace")
        with self._folder.open_write(file_name(record["url"]), lasting=False) as stream:
            stream.write(data)
        self.records += 1
        self.bytes += len(data)
