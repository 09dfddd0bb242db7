"""What S3 does otherwise than a disk: conditional writes, unfinished uploads, its faults.

Works on the file system objects that `folder` opens and knows the store's exceptions by
what they say, so that nothing here is imported where no such store is used. An answer may
get lost on its way, and then the request is sent again: whoever asks must not take what
its own first request did for somebody else's doing.
"""

from __future__ import annotations

import asyncio
import os
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import urlsplit

READ_BLOCK = 4 << 20
"""Read in one request, at least: a footer, or the columns of a small row group."""
WRITE_BLOCK = 16 << 20
"""A part of an upload. A file that is smaller is one request; 10,000 parts are the limit."""

_SCHEMES = frozenset({"s3", "s3a"})
_RETRIES = {"mode": "standard", "total_max_attempts": 6}
"""With exponential back-off and jitter: some fifteen seconds in all."""
_RETRY_SETTINGS = ("AWS_MAX_ATTEMPTS", "AWS_RETRY_MODE")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_CREATOR = "nutria-creator"
_CONFLICTS = 8
_CONFLICT_PAUSE_S = 0.05
_READS = 6
_FEW = 8
_DELETED_AT_ONCE = 1000
"""Objects that one request may delete."""
_pause = threading.Event()  # never set: a sleep


def is_store(protocols: tuple[str, ...]) -> bool:
    """Whether there are no folders, only names with slashes in them."""
    return not _SCHEMES.isdisjoint(protocols)


def options_of(scheme: str) -> dict[str, Any]:
    """How to open the file system. Credentials, region and endpoint are found by the usual
    chain: AWS_* variables, the profile, the machine's role."""
    if scheme not in _SCHEMES:
        return {}
    settings: dict[str, Any] = {"read_timeout": 60, "max_pool_connections": 32}
    if not any(name in os.environ for name in _RETRY_SETTINGS):
        settings["retries"] = _RETRIES
    endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), None)
    return {
        **({"endpoint_url": endpoint} if endpoint else {}),
        # what others write, and what we wrote through another process, must be seen
        "use_listings_cache": False,
        # a small file is read by one request: more at a time would ask for its size first
        "max_concurrency": 1,
        "config_kwargs": settings,
    }


def create(store: Any, path: str, data: bytes) -> bool:
    """Writes an object unless there is one; of many who try at once one succeeds."""
    return StoreVersions(store).replace(path, data, None)[0]


def _written_by(store: Any, path: str, creator: str) -> tuple[bool, str | None]:
    """Whether an object that was there is our own, and only the answer was lost; its ETag."""
    try:
        if store.metadata(path).get(_CREATOR) != creator:
            return False, None
    except FileNotFoundError:
        return False, None  # deleted since
    try:
        return True, str(store.info(path)["ETag"])
    except FileNotFoundError:
        return True, None  # deleted since: nothing that we write will find its ETag


async def _get(store: Any, path: str) -> tuple[bytes, str]:
    bucket, key, _ = store.split_path(path)
    answer = await store._call_s3("get_object", Bucket=bucket, Key=key)
    try:
        return await answer["Body"].read(), str(answer["ETag"])
    finally:
        answer["Body"].close()


@dataclass(frozen=True, slots=True)
class StoreVersions:
    """What `VersionFence` asks of a store: a version is an ETag."""

    store: Any

    def read(self, path: str) -> tuple[bytes | None, str | None]:
        """A small object and its ETag, of one moment."""
        for attempt in range(_READS):
            try:
                reading = asyncio.run_coroutine_threadsafe(_get(self.store, path), self.store.loop)
                return reading.result()
            except FileNotFoundError as error:
                require_bucket(error)
                return None, None
            except Exception as error:
                # an answer that broke off half way; what the store itself says is tried below
                if isinstance(error, OSError) or attempt == _READS - 1:
                    raise
                _pause.wait(_CONFLICT_PAUSE_S * 2**attempt)
        raise AssertionError("unreachable")

    def replace(self, path: str, data: bytes, version: str | None) -> tuple[bool, str | None]:
        """Writes an object if the one that is there has that version (None: if there is none);
        whether it did, and the version of what it wrote, where the store tells."""
        creator = uuid.uuid4().hex
        condition = {"mode": "create"} if version is None else {"IfMatch": version}
        for attempt in range(_CONFLICTS):
            try:
                answer = self.store.pipe_file(path, data, Metadata={_CREATOR: creator}, **condition)
                return True, answer.get("ETag") if isinstance(answer, Mapping) else None
            except OSError as error:
                require_bucket(error)
                code = _code(error)
                if isinstance(error, FileExistsError | FileNotFoundError) or code in _EXISTS:
                    return _written_by(self.store, path, creator)
                if code not in _CONFLICT:
                    raise
                # another's request for the same name was under way: it may fail yet
                _pause.wait(_CONFLICT_PAUSE_S * 2**attempt)
        return False, None

    def delete(self, path: str, version: str) -> bool:
        """Deletes an object if it has that version; whether it is gone. A store that knows no such
        condition deletes what is there: whoever calls has just looked at it."""
        bucket, key, _ = self.store.split_path(path)
        for attempt in range(_CONFLICTS):
            try:
                self.store.call_s3("delete_object", Bucket=bucket, Key=key, IfMatch=version)
                return True
            except FileNotFoundError as error:
                require_bucket(error)
                return True  # by our own first request, whose answer was lost, or by somebody
            except OSError as error:
                code = _code(error)
                if code in _EXISTS:
                    return False
                if code in _NOT_KNOWN:
                    self.store.rm_file(path)
                    return True
                if code not in _CONFLICT:
                    raise
                _pause.wait(_CONFLICT_PAUSE_S * 2**attempt)
        return False


def exists(store: Any, path: str) -> bool:
    """Whether there is an object or a name below; a fault is no answer."""
    with AllowedAbsence():
        store.info(path)
        return True
    return False


def trust_size(stream: Any, path: str, size: int) -> None:
    """Has a stream that was opened with its size not ask the store for it when it is read."""
    stream.details = {"name": path, "size": size, "type": "file"}


def delete(store: Any, path: str, is_pattern: Callable[[str], bool]) -> None:
    """Deletes an object, or all that are below."""
    if store.info(path)["type"] == "file":
        store.rm_file(path)
        return
    for _ in range(_CONFLICTS):
        files = list(store.find(path))
        if len(files) <= _FEW or is_pattern(path):
            for file in files:
                store.rm_file(file)
            return
        # of many at once a store may refuse some and nobody is told: look again
        store.rm(path, recursive=True)
    raise OSError("the store does not delete what is here")


def delete_files(store: Any, paths: Sequence[str]) -> int:
    """Deletes objects, none of whose names is a pattern; says how many requests that were."""
    requests = range(0, len(paths), _DELETED_AT_ONCE)
    for start in requests:
        store.rm(list(paths[start : start + _DELETED_AT_ONCE]))
    return len(requests)


@contextmanager
def uploading(store: Any, path: str) -> Iterator[IO[bytes]]:
    """An object of any size, which is there when the block ends without a fault."""
    stream = store.open(path, "wb", block_size=WRITE_BLOCK)
    try:
        yield stream
        finish(store, path, stream)
    except BaseException:
        discard(stream)
        raise


def finish(store: Any, path: str, stream: IO[bytes]) -> None:
    """Ends an upload. The name exists from this moment on, or not at all."""
    size = stream.tell()
    try:
        stream.close()
    except FileNotFoundError as error:
        # the first request to end it did, and its answer was lost
        if _code(error) != "NoSuchUpload" or store.info(path)["size"] != size:
            raise


def discard(stream: Any) -> None:
    """Gives up an upload: nothing is there under its name, and none of its parts is kept."""
    with suppress(Exception):  # the fault that led here is the one to be told
        stream.discard()
    stream.closed = True


def drop_uploads(store: Any, path: str) -> int:
    """Gives up every upload below that was begun and not ended; says how many."""
    bucket, _, prefix = path.partition("/")
    dropped = 0
    try:
        uploads = list(_uploads(store, bucket, f"{prefix}/" if prefix else ""))
    except OSError as error:
        # to clean up is a right of its own, and some stores do it by themselves
        if _code(error) in _NOT_OURS_TO_CLEAN:
            return 0
        raise
    for upload in uploads:
        with suppress(FileNotFoundError):  # ended since
            store.abort_mpu(bucket, upload["Key"], upload["UploadId"])
            dropped += 1
    return dropped


def _uploads(store: Any, bucket: str, prefix: str) -> Iterator[Mapping[str, Any]]:
    asked: dict[str, Any] = {"Bucket": bucket, "Prefix": prefix}
    while True:
        page = store.call_s3("list_multipart_uploads", **asked)
        yield from page.get("Uploads", [])
        if not page.get("IsTruncated"):
            return
        asked["KeyMarker"] = page["NextKeyMarker"]
        asked["UploadIdMarker"] = page["NextUploadIdMarker"]


class AllowedAbsence:
    """What its block asks for may not be there, but the bucket that it is in must."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if error is not None:
            require_bucket(error)
        return isinstance(error, FileNotFoundError)


def require_bucket(error: BaseException) -> None:
    """Raises the error again where not a file is missing but all there should be."""
    if _code(error) == "NoSuchBucket":
        raise error


def error_line(error: BaseException) -> str | None:
    """What a store's exception means to the user; None for any other exception."""
    is_the_librarys = type(error).__module__.partition(".")[0] in _LIBRARIES
    if not is_the_librarys and not isinstance(error, OSError):
        return None
    code = _code(error)
    if code in _BY_CODE:
        return _BY_CODE[code].format(code=code)
    for kind in type(error).__mro__ if is_the_librarys else ():
        if kind.__name__ in _BY_NAME:
            return _BY_NAME[kind.__name__].format(place=_place(error))
    return " ".join(str(error).split()) if is_the_librarys else None


def _code(error: BaseException | None) -> str:
    """The store's own word for what is wrong."""
    while error is not None:
        answer = getattr(error, "response", None)
        if isinstance(answer, Mapping) and "Error" in answer:
            return str(answer["Error"].get("Code", ""))
        error = error.__cause__
    return ""


def _place(error: BaseException) -> str:
    """Where the store was looked for."""
    details: Any = getattr(error, "kwargs", {})
    parts = urlsplit(str(details.get("endpoint_url", "")))
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else "its address"


_EXISTS = frozenset({"PreconditionFailed", "412"})
_CONFLICT = frozenset({"ConditionalRequestConflict", "OperationAborted", "409"})
_NOT_KNOWN = frozenset({"NotImplemented", "501"})
_NOT_OURS_TO_CLEAN = frozenset({"AccessDenied", "403", "NotImplemented", "MethodNotAllowed"})
_LIBRARIES = frozenset({"botocore", "aiobotocore", "aiohttp"})

_REFUSED = "permission denied ({code}): the credentials in use do not allow it"
_UNKNOWN = "the store does not accept the credentials in use ({code})"
_ELSEWHERE = "the bucket is in another region ({code}): set AWS_REGION to it"
_OVERLOADED = "the store was too busy, again and again ({code}): try again later"
_BY_CODE = {
    "NoSuchBucket": "there is no such bucket: create it, or correct the name",
    "InvalidBucketName": "that is no name for a bucket",
    **dict.fromkeys(("AccessDenied", "AllAccessDisabled", "403"), _REFUSED),
    **dict.fromkeys(("InvalidAccessKeyId", "SignatureDoesNotMatch"), _UNKNOWN),
    **dict.fromkeys(("ExpiredToken", "InvalidToken"), _UNKNOWN),
    **dict.fromkeys(("PermanentRedirect", "AuthorizationHeaderMalformed", "301"), _ELSEWHERE),
    **dict.fromkeys(("SlowDown", "ServiceUnavailable", "503"), _OVERLOADED),
}

_NO_CREDENTIALS = (
    "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE,"
    " or run where a role gives them"
)
_UNREACHABLE = "cannot reach the store at {place}: see AWS_ENDPOINT_URL and the network"
_BY_NAME = {
    **dict.fromkeys(("NoCredentialsError", "PartialCredentialsError"), _NO_CREDENTIALS),
    **dict.fromkeys(("CredentialRetrievalError", "TokenRetrievalError"), _NO_CREDENTIALS),
    **dict.fromkeys(
        ("EndpointConnectionError", "ConnectionError", "HTTPClientError"), _UNREACHABLE
    ),
    "ClientPayloadError": "the store's connection broke, again and again: try again later",
}
