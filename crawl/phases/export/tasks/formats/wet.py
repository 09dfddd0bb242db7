"""Records as WET: WARC conversion records, each gzipped by itself, as Common Crawl has them.

Written here, for such a record is ten lines of ASCII and a text; warcio and fastwarc read them in
the tests. Headers are built of values that cannot have a line end.
"""

from __future__ import annotations

import base64
import hashlib
import re
import uuid
import zlib
from typing import IO

from crawl.phases.export.tasks.formats.jsonl import iso_time
from crawl.phases.export.tasks.record import Record

_NOT_IN_HEADERS = re.compile(r"[\x00-\x20\x7f]")
_LEVEL = 4
_SOFTWARE = (
    "software: nutria\r\nformat: WARC File Format 1.0\r\ndescription: text of crawled pages\r\n"
)


class WetSink:
    """A warcinfo record, and a conversion record a page."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._is_begun = False

    def write(self, record: Record) -> None:
        if not self._is_begun:
            self._is_begun = True
            self._add(
                "warcinfo",
                f"warcinfo {record['url']} {record['fetched_at']}",
                iso_time(record["fetched_at"]),
                {"Content-Type": "application/warc-fields"},
                _SOFTWARE.encode(),
            )
        headers = {"WARC-Target-URI": _header(record["url"])}
        if record["language"]:
            headers["WARC-Identified-Content-Language"] = _header(record["language"])
        headers["Content-Type"] = "text/plain"
        block = record["text"].encode("utf-8", "replace")
        digest = base64.b32encode(hashlib.sha1(block).digest()).decode()
        headers["WARC-Block-Digest"] = f"sha1:{digest}"
        name = f"{record['url']} {record['fetched_at']} {digest}"
        self._add("conversion", name, iso_time(record["fetched_at"]), headers, block)

    def _add(
        self, kind: str, name: str, moment: str | None, headers: dict[str, str], block: bytes
    ) -> None:
        date = (moment or "1970-01-01T00:00:00+00:00").replace("+00:00", "Z")
        identifier = uuid.uuid5(uuid.NAMESPACE_URL, name.encode("utf-8", "replace").decode())
        lines = [
            "WARC/1.0",
            f"WARC-Type: {kind}",
            f"WARC-Date: {date}",
            f"WARC-Record-ID: <urn:uuid:{identifier}>",
            *(f"{key}: {value}" for key, value in headers.items()),
            f"Content-Length: {len(block)}",
        ]
        head = "\r\n".join(lines).encode("utf-8", "replace")
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, 31)
        packed = packer.compress(head + b"\r\n\r\n" + block + b"\r\n\r\n") + packer.flush()
        self._stream.write(packed)

    def close(self) -> None:
        """Nothing is held back."""


def _header(value: str) -> str:
    return _NOT_IN_HEADERS.sub(lambda match: f"%{ord(match[0]):02X}", value)
