"""What the roles say to each other: MessagePack, with a version in front.

JobMessage      a job, and from when on its URL may be asked for
ResultMessage   what a URL's request brought, or why there was none, and the jobs that it ends
HostMessage     what a server is owed, or who began and ended to own a partition
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TypeVar

import msgspec

from crawl.fetcher.frontier.queue import ServerState
from crawl.fetcher.output.note import Note, decode_notes, encode_note
from crawl.fetcher.values.record import FetchRecord
from crawl.service.values import Job

_VERSION = 1


class JobMessage(msgspec.Struct, frozen=True, array_like=True):
    """What the topic of jobs has."""

    version: int
    job: Job
    not_before_ms: int = 0
    etag: str = ""
    """Of the page that is known, so that it need not be sent again; with its dates."""
    last_modified: str = ""
    modified_ms: int = 0
    is_known: bool = False


class ResultMessage(msgspec.Struct, frozen=True, array_like=True):
    """What the topic of results has."""

    version: int
    url: str
    host: str
    jobs: tuple[Job, ...]
    pause_s: float
    """That the server was owed then."""
    reason: str = ""
    """Why there is no record."""
    note: bytes = b""
    """The record, as the journal of a segment notes it."""
    robots_from_ms: int = 0
    """When its authority's robots.txt was asked for last, and until when; 0 where it was not."""
    robots_until_ms: int = 0


class HostMessage(msgspec.Struct, frozen=True, array_like=True):
    """What the topic of hosts has."""

    version: int
    at_ms: int
    state: dict[str, str | float | int] | None = None
    owner: str = ""
    """Of a partition: who began to own it, or ended in good order."""


_Message = TypeVar("_Message", JobMessage, ResultMessage, HostMessage)

_pack = msgspec.msgpack.Encoder().encode
_job = msgspec.msgpack.Decoder(JobMessage)
_result = msgspec.msgpack.Decoder(ResultMessage)
_host = msgspec.msgpack.Decoder(HostMessage)


def job_message(
    job: Job,
    not_before_ms: int = 0,
    etag: str = "",
    last_modified: str = "",
    modified_ms: int = 0,
    *,
    is_known: bool = False,
) -> bytes:
    return _pack(
        JobMessage(_VERSION, job, not_before_ms, etag, last_modified, modified_ms, is_known)
    )


def job_message_of(raw: bytes) -> JobMessage:
    """ValueError for what is none."""
    return _checked(_job.decode(raw))


def result_message(
    record: FetchRecord,
    jobs: tuple[Job, ...],
    pause_s: float,
    reason: str = "",
    robots_span: tuple[int, int] = (0, 0),
) -> bytes:
    """Of a record; a reason says what of its content was left out."""
    note = b"".join(encode_note(Note([record])))
    return _pack(
        ResultMessage(
            *(_VERSION, record.url, record.host, jobs, pause_s, reason, note), *robots_span
        )
    )


def returned_message(
    url: str, host: str, jobs: tuple[Job, ...], pause_s: float, reason: str
) -> bytes:
    """Of a URL that the engine gave back."""
    return _pack(ResultMessage(_VERSION, url, host, jobs, pause_s, reason))


def result_message_of(raw: bytes) -> ResultMessage:
    """ValueError for what is none."""
    return _checked(_result.decode(raw))


def record_of_message(message: ResultMessage) -> FetchRecord | None:
    """The record; None where there was none. ValueError where it cannot be read."""
    if not message.note:
        return None
    for note in decode_notes(message.note):
        if len(note.records) == 1:
            return note.records[0]
    raise ValueError("the record of a result cannot be read")


def host_message(state: ServerState, at_ms: int) -> bytes:
    return _pack(HostMessage(_VERSION, at_ms, asdict(state)))


def owner_message(owner: str, at_ms: int) -> bytes:
    return _pack(HostMessage(_VERSION, at_ms, None, owner))


def host_message_of(raw: bytes) -> HostMessage:
    """ValueError for what is none."""
    return _checked(_host.decode(raw))


def state_of(message: HostMessage, now_ms: int, skew_s: float) -> ServerState | None:
    """What the server is owed now, where clocks may differ by so much."""
    if message.state is None:
        return None
    try:
        state = msgspec.convert(message.state, ServerState)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    gone_s = max(0.0, (now_ms - message.at_ms) / 1000 - skew_s)
    pause_s, counts_s = max(0.0, state.pause_s - gone_s), max(0.0, state.counts_s - gone_s)
    return ServerState(
        state.key,
        pause_s,
        state.exceptions,
        state.closed_reason if pause_s else "",
        counts_s,
        state.min_delay_s,
        state.wait_reason,
    )


def _checked(message: _Message) -> _Message:
    if message.version != _VERSION:
        raise ValueError(f"version {message.version} of a message is not known here")
    return message
