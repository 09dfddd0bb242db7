"""indexwriter solr: documents go to a collection of Solr, by its JSON update handler.

Solr knows no versions from outside. So the moment at which a page was fetched is a field of its
document, the real-time get tells which one Solr has, and what is sent bears Solr's own `_version_`
of the document that it is to replace: it is taken only if nobody was in between. An older page
therefore never replaces a newer one, in whatever order tasks send them. Of a deleted document
nothing is left to compare with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

import msgspec

from crawl.config import Config
from crawl.errors import ConfigError, StorageError
from crawl.interfaces.indexwriter import NO_PARAMETERS, IndexWriter, Shard
from crawl.model.documents import IndexDocument
from crawl.plugins.indexwriter.shared.http_server import JSON, PASSING, HttpServer, ServerAnswer
from crawl.plugins.indexwriter.shared.patience import Patience
from crawl.plugins.indexwriter.shared.server_settings import ServerSettings, read_settings
from crawl.plugins.indexwriter.shared.server_shard import Change, ServerShard
from crawl.printable import printable

_encoder = msgspec.json.Encoder()
_OWN = ("id_field", "version_field")
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_FORM = "application/x-www-form-urlencoded"
_FORM_BYTES = 1 << 20
"""Of one question; Solr takes twice as many unless it is told otherwise."""
_NEVER_STORED = -1
"""The `_version_` of what must not be there yet."""
_ATTEMPTS = 5
"""At one document that others change at the same time."""
_AWAY = PASSING | {404}
"""A collection that was there is not gone: its server starts."""


class SolrIndexWriter(IndexWriter):
    """Parameters: those of every server, whose `url` is a collection's
    (http://HOST:8983/solr/COLLECTION); `id_field` (id), the unique key; `version_field`
    (version_l), a field for whole numbers, or empty: then the last one that is sent wins."""

    keeps_files: ClassVar[bool] = False

    def __init__(self, config: Config, parameters: Mapping[str, Any] = NO_PARAMETERS) -> None:
        default = "http://localhost:8983/solr/nutria"
        self._settings, own = read_settings(config, parameters, _OWN, default)
        self._id = own.text("id_field", "id")
        self._version = own.text("version_field", "version_l")
        for name, value in (("id_field", self._id), ("version_field", self._version or "x")):
            if not _FIELD.fullmatch(value):
                raise ConfigError(f"{name}: {printable(value, 200)!r} is no name of a field")

    def check(self) -> None:
        with closing(HttpServer(self._settings, Patience(self._settings.check_seconds))) as server:
            answer = server.ask("GET", "/schema/uniquekey?wt=json")
            if answer.status != 200:
                raise answer.fault("is no collection of Solr")
            key = answer.json().get("uniqueKey")
            if key != self._id:
                raise StorageError(
                    f"{answer.address}: its unique key is {answer.shown(key)}, not {self._id}"
                    " (id_field)"
                )
            if self._version:
                path = f"/schema/fields/{quote(self._version)}?includeDynamic=true&wt=json"
                if server.ask("GET", path).status == 404:
                    raise StorageError(
                        f"{answer.address}: its schema has no field {self._version}: add one for"
                        " whole numbers (plong), or name another (version_field)"
                    )

    def open(self, shard: Shard) -> SolrShard:
        return SolrShard(self._settings, self._id, self._version)

    def commit(self) -> None:
        with closing(HttpServer(self._settings)) as server:
            answer = server.ask("POST", "/update?wt=json", b'{"commit":{}}', JSON, passing=_AWAY)
            if answer.status != 200:
                raise answer.fault("does not commit")


class SolrShard(ServerShard):
    """Sends changes by `/update`."""

    def __init__(self, settings: ServerSettings, id_field: str, version_field: str) -> None:
        super().__init__(settings, HttpServer(settings))
        self._id = id_field
        self._version = version_field

    def _addition(self, document: IndexDocument) -> Change:
        fields: dict[str, Any] = {**document.fields, self._id: document.url}
        if self._version:
            fields[self._version] = document.version
        fields.pop("_version_", None)
        # without its last brace, so that Solr's version can follow
        return Change(document.url, document.version, _encoder.encode(fields)[:-1])

    def _deletion(self, url: str, version: int) -> Change:
        return Change(url, version, _encoder.encode({"id": url})[:-1], deletes=True)

    def _send(self, changes: Sequence[Change]) -> None:
        refusal = self._attempt(changes)
        if refusal is not None and refusal.status == 409:
            refusal = self._attempt(changes)  # by what is there now
        if refusal is None:
            return
        if len(changes) > 1:
            # Solr stops at the first that it does not take
            half = len(changes) // 2
            self._send(changes[:half])
            self._send(changes[half:])
            return
        self._send_alone(changes[0], refusal)

    def _send_alone(self, change: Change, refusal: ServerAnswer) -> None:
        for _ in range(_ATTEMPTS):
            if refusal.status != 409:
                self._refuse(change, f"status_{refusal.status}", refusal.reason())
                return
            again = self._attempt([change])
            if again is None:
                return
            refusal = again
        self._conflict()  # whoever changes it so often has the last word

    def _attempt(self, changes: Sequence[Change]) -> ServerAnswer | None:
        """Sends what Solr has nothing newer of; its answer if it does not take all of it."""
        stored = self._stored(changes) if self._version else None
        bodies: list[bytes] = []
        conflicts = 0
        for change in changes:
            ending = b"}"
            if stored is not None:
                version, token = stored.get(change.url, (-1, _NEVER_STORED))
                if version > change.version:
                    conflicts += 1
                    continue
                if change.deletes and token == _NEVER_STORED:
                    continue  # there is none
                ending = b',"_version_":%d}' % token
            command = b'"delete":%b%b' if change.deletes else b'"add":{"doc":%b%b}'
            bodies.append(command % (change.body, ending))
        if bodies:
            # a key for every command, which is how Solr reads JSON
            body = b"{" + b",".join(bodies) + b"}"
            answer = self._server.ask("POST", "/update?wt=json", body, JSON, passing=_AWAY)
            if answer.status in (400, 409, 413):
                return answer
            if answer.status != 200:
                raise answer.fault("takes no documents")
            _require_taken(answer)
        for _ in range(conflicts):
            self._conflict()
        return None

    def _stored(self, changes: Sequence[Change]) -> dict[str, tuple[int, int]]:
        """The versions that Solr has: the field's, and its own."""
        versions: dict[str, tuple[int, int]] = {}
        fields = ("fl", f"{self._id},{self._version},_version_")
        for urls in _in_forms(changes):
            form = urlencode([("wt", "json"), fields, *(("id", url) for url in urls)])
            answer = self._server.ask("POST", "/get", form.encode(), _FORM, passing=_AWAY)
            if answer.status != 200:
                raise answer.fault("cannot be asked")
            for document in _documents(answer):
                try:
                    url, token = str(document[self._id]), int(document["_version_"])
                    versions[url] = (_number(document.get(self._version)), token)
                except (KeyError, TypeError, ValueError):
                    raise StorageError(
                        f"{answer.address}: a document has no `_version_`: the collection needs"
                        " an updateLog, or an empty version_field"
                    ) from None
        return versions


def _in_forms(changes: Sequence[Change]) -> Iterator[list[str]]:
    """URLs, as many as fit into one question."""
    urls: list[str] = []
    size = 0
    for change in changes:
        length = 3 * len(change.url.encode()) + 4
        if urls and size + length > _FORM_BYTES:
            yield urls
            urls, size = [], 0
        urls.append(change.url)
        size += length
    if urls:
        yield urls


def _documents(answer: ServerAnswer) -> list[Any]:
    """Of the real-time get, which answers for one id in another form than for several."""
    content = answer.json()
    if "doc" in content:
        return [content["doc"]] if content["doc"] is not None else []
    response = content.get("response")
    documents = response.get("docs") if isinstance(response, dict) else None
    if not isinstance(documents, list):
        raise answer.fault("does not answer as expected")
    return documents


def _number(value: object) -> int:
    """The version in a document; -1 where another program wrote it."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]  # a field for several values
    return value if isinstance(value, int) else -1


def _require_taken(answer: ServerAnswer) -> None:
    """Solr says 200, and also in the answer itself that all went well."""
    header = answer.json().get("responseHeader")
    if not isinstance(header, dict) or header.get("status") != 0 or header.get("errors"):
        raise answer.fault("does not answer as expected")
