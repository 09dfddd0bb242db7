"""The bulk API that OpenSearch and Elasticsearch share.

Every change bears the moment at which its page was fetched as an external version: the server
takes it unless it has a newer one, so that the same can be sent twice, and an old one that was
late changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from crawl.config import Config
from crawl.errors import ConfigError, StorageError
from crawl.interfaces.indexwriter import NO_PARAMETERS, IndexWriter, Shard
from crawl.model.documents import IndexDocument
from crawl.plugins.indexwriter.shared.http_server import PASSING, HttpServer, ServerAnswer
from crawl.plugins.indexwriter.shared.patience import Patience
from crawl.plugins.indexwriter.shared.server_settings import ServerSettings, read_settings
from crawl.plugins.indexwriter.shared.server_shard import Change, ServerShard
from crawl.printable import one_line, printable

_encoder = msgspec.json.Encoder()
_OWN = ("index", "create_index", "mapping", "gzip")
_INDEX = re.compile(r"[a-z0-9.][a-z0-9._-]{0,254}")
_NDJSON = "application/x-ndjson"
_ANSWERED = "filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason"
_LONGEST_ID = 512
"""Bytes that these servers take."""

_KEYWORD = {"type": "keyword", "ignore_above": 8191}
_TEXT = {"type": "text"}
_DATE = {"type": "date"}
DEFAULT_INDEX_BODY: Mapping[str, Any] = {
    # a value that does not fit its field is left out of that field, not the document
    "settings": {"index": {"mapping": {"ignore_malformed": True}}},
    "mappings": {
        "date_detection": False,
        "dynamic_templates": [{"texts": {"match_mapping_type": "string", "mapping": _KEYWORD}}],
        "properties": {
            **dict.fromkeys(("title", "content", "anchor", "description", "keywords"), _TEXT),
            **dict.fromkeys(("tstamp", "date", "lastModified"), _DATE),
            "contentLength": {"type": "long"},
            "boost": {"type": "float"},
            "binaryContent": {"type": "keyword", "index": False, "doc_values": False},
        },
    },
}
"""Of an index that is made here: texts to be searched, all else as it is."""


class BulkIndexWriter(IndexWriter):
    """Parameters: those of every server, `index`, `create_index` (true), `mapping` (a file with
    the body of the index to be created), `gzip` (false)."""

    keeps_files: ClassVar[bool] = False

    def __init__(self, config: Config, parameters: Mapping[str, Any] = NO_PARAMETERS) -> None:
        self._settings, own = read_settings(config, parameters, _OWN, "http://localhost:9200")
        self._index = own.text("index", "nutria")
        if not _INDEX.fullmatch(self._index) or self._index in (".", ".."):
            raise ConfigError(
                f"index: {printable(self._index, 200)!r} is no name of an index: small letters,"
                " digits, `-`, `_` and `.`"
            )
        self._create = own.flag("create_index", default=True)
        self._gzip = own.flag("gzip", default=False)
        self._body = _index_body(own.text("mapping"))
        self.is_new = False

    def check(self) -> None:
        self._ask_for_index(may_make=True)

    def probe(self) -> None:
        self._ask_for_index(may_make=False)

    def _ask_for_index(self, *, may_make: bool) -> None:
        with closing(HttpServer(self._settings, Patience(self._settings.check_seconds))) as server:
            answer = server.ask("HEAD", f"/{self._index}")
            if answer.status == 404 and self._create:
                if not may_make:
                    return
                answer = server.ask("PUT", f"/{self._index}", self._body)
                if answer.status == 400 and b"resource_already_exists" in answer.body:
                    return  # somebody was quicker
                if answer.status == 200:
                    answer.json()  # or it is another kind of server
                    self.is_new = True
            if answer.status == 404:
                raise StorageError(
                    f"{answer.address} has no index {self._index}, and create_index is false"
                )
            if answer.status != 200:
                raise answer.fault(f"has no use for the index {self._index}")

    def open(self, shard: Shard) -> BulkShard:
        return BulkShard(self._settings, self._index, gzipped=self._gzip)

    def commit(self) -> None:
        with closing(HttpServer(self._settings)) as server:
            answer = server.ask("POST", f"/{self._index}/_refresh", b"")
            if answer.status != 200:
                raise answer.fault("does not refresh")


def _index_body(path: str) -> bytes:
    if not path:
        return _encoder.encode(DEFAULT_INDEX_BODY)
    try:
        body = Path(path).read_bytes()
        if not isinstance(msgspec.json.decode(body), dict):
            raise ConfigError(f"mapping: {printable(path, 200)} is no JSON object")
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(f"mapping: {printable(path, 200)}: {one_line(str(error), 300)}") from None
    return body


class BulkShard(ServerShard):
    """Sends changes by `_bulk`."""

    def __init__(self, settings: ServerSettings, index: str, *, gzipped: bool = False) -> None:
        super().__init__(settings, HttpServer(settings))
        self._path = f"/{index}/_bulk?{_ANSWERED}"
        self._gzip = gzipped
        self._patience = Patience(settings.retry_seconds)
        """With changes that the server was too busy for."""

    @property
    def _retries(self) -> int:
        return self._server.retries + self._patience.pauses

    def _addition(self, document: IndexDocument) -> Change:
        url, version = document.url, document.version
        head = _encoder.encode({"index": _action(url, version)})
        body = b"%b\n%b\n" % (head, _encoder.encode(document.fields))
        return Change(url, version, body)

    def _deletion(self, url: str, version: int) -> Change:
        body = _encoder.encode({"delete": _action(url, version)}) + b"\n"
        return Change(url, version, body, deletes=True)

    def _send(self, changes: Sequence[Change]) -> None:
        while changes:
            body = b"".join(change.body for change in changes)
            answer = self._server.ask("POST", self._path, body, _NDJSON, gzipped=self._gzip)
            if answer.status in (400, 413):
                if len(changes) == 1:
                    self._refuse(changes[0], f"status_{answer.status}", answer.reason())
                    return
                # too much at once, or one that spoils the others
                half = len(changes) // 2
                self._send(changes[:half])
                changes = changes[half:]
                continue
            if answer.status != 200:
                raise answer.fault("takes no documents")
            waiting, reason = self._sorted_out(changes, answer)
            if len(waiting) < len(changes):
                self._patience.renew()
            if waiting and not self._patience.pause(answer.retry_after):
                raise self._server.gives_up(reason, answer.address)
            changes = waiting

    def _sorted_out(
        self, changes: Sequence[Change], answer: ServerAnswer
    ) -> tuple[list[Change], str]:
        """The changes that are to be sent again, and why."""
        content = answer.json()
        items = content.get("items")
        if not isinstance(items, list) or len(items) != len(changes):
            raise answer.fault("does not answer as expected")
        waiting: list[Change] = []
        reason = ""
        for change, item in zip(changes, items, strict=True):
            status, kind, message = _item(item, answer)
            if status in (200, 201) or (status == 404 and change.deletes and not kind):
                continue
            if status == 409:
                self._conflict()
            elif status in PASSING:
                waiting.append(change)
                reason = reason or f"{status} {message}"
            elif status == 400:
                self._refuse(change, kind, message)
            else:
                raise StorageError(f"{answer.address} takes no documents: {status} {message}")
        return waiting, reason


def _action(url: str, version: int) -> dict[str, Any]:
    return {"_id": document_id(url), "version": version, "version_type": "external_gte"}


def document_id(url: str) -> str:
    """The URL, or a digest of one that is too long."""
    encoded = url.encode()
    if len(encoded) <= _LONGEST_ID:
        return url
    return f"blake2b:{blake2b(encoded, digest_size=32).hexdigest()}"


def _item(item: object, answer: ServerAnswer) -> tuple[int, str, str]:
    """Status, kind of fault and what is said of one change."""
    try:
        (content,) = item.values()  # type: ignore[attr-defined]
        status = int(content["status"])
        error = content.get("error") or {}
        if isinstance(error, str):
            return status, "other", answer.shown(error)
        kind, reason = error.get("type", ""), error.get("reason", "")
        return status, answer.shown(kind), answer.shown(reason)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise answer.fault("does not answer as expected") from None
