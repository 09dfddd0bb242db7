"""protocol ftp: files and folders of FTP servers, by libcurl.

libcurl, because ftplib has no time limit for a whole document; the addresses of data
connections that a server names are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from email.utils import formatdate
from typing import Any, Final

import pycurl

from crawl.config import Config, duration, properties_in, size, text
from crawl.interfaces.protocol import (
    Failure,
    FailureKind,
    FetchProtocol,
    Headers,
    Request,
    Response,
    Truncation,
)
from crawl.net import addresses, dns
from crawl.net.dns import MONOTONIC, HostResolver, Resolve, Timer, system_addresses
from crawl.net.secret_mask import SecretMask
from crawl.plugins.protocol.curl.errors import CONNECT_ERRNO_KINDS, failure_kind
from crawl.plugins.protocol.shared import limits
from crawl.plugins.protocol.shared.body import Body
from crawl.plugins.protocol.shared.directory_listing import listing_page
from crawl.plugins.protocol.shared.limits import TransferLimits
from crawl.plugins.protocol.shared.target import RequestTarget, request_target

USERNAME = text("ftp.username", "anonymous", "User of FTP servers.")
PASSWORD = text("ftp.password", "anonymous@example.com", "Password of that user.")
TIMEOUT = duration("ftp.timeout", 60_000, "Longest wait for an FTP server.", unit="ms")
CONTENT_LIMIT = size(
    "ftp.content.limit", 1024 * 1024, "Longest file; the rest is cut off; -1: none.", minimum=-1
)

_CODES: Final = {
    pycurl.E_REMOTE_FILE_NOT_FOUND: 404,
    pycurl.E_FTP_COULDNT_RETR_FILE: 404,
    pycurl.E_REMOTE_ACCESS_DENIED: 404,
    pycurl.E_LOGIN_DENIED: 401,
}
"""Refusals as HTTP status codes, which the fetcher's outcome table knows."""

_UNIX = re.compile(r"(?P<kind>[-dl])\S{9,}(?:\s+\S+){7}\s(?P<name>.+)")
_DOS = re.compile(r"\d\d-\d\d-\d{2,4}\s+\S+\s+(?P<kind><DIR>|\d+)\s+(?P<name>.+)")


class FtpProtocol(FetchProtocol):
    """`ftp`: one connection for each file."""

    schemes: tuple[str, ...] = ("ftp",)
    properties = (
        *properties_in(addresses, dns, limits),
        *(USERNAME, PASSWORD, TIMEOUT, CONTENT_LIMIT),
    )

    def __init__(
        self, config: Config, *, resolver: Resolve = system_addresses, monotonic: Timer = MONOTONIC
    ) -> None:
        waits = max(1.0, config[TIMEOUT] / 1000)
        limits = replace(TransferLimits.of(config), connect=waits, low_speed_time=waits)
        limit = config[CONTENT_LIMIT]
        self._limits = replace(limits, body=limits.body_of(limit))
        self._login = (config[USERNAME], config[PASSWORD])
        self._mask = SecretMask(self._login[1:])
        self._resolver = HostResolver(config, resolver, monotonic=monotonic)
        self._monotonic = monotonic

    def fetch(self, request: Request) -> Response | Failure:
        target = request_target(request.url)
        if target is None or target.server.scheme != "ftp":
            return Failure(request.url, FailureKind.NOT_SUPPORTED, "not an ftp URL")
        located = self._resolver.locate(target.server.host)
        if not located.addresses:
            return Failure(request.url, located.kind, located.message)
        body = Body(self._limits.body_of(request.max_bytes))
        curl = pycurl.Curl()
        try:
            self._prepare(curl, target, located.addresses[0], body, request)
            return self._perform(curl, target, located.addresses[0], body, request)
        except (ValueError, UnicodeError) as error:
            return Failure(request.url, FailureKind.NOT_SUPPORTED, str(error))
        finally:
            curl.close()

    def close(self) -> None:
        """Nothing is kept."""

    def _prepare(
        self, curl: Any, target: RequestTarget, address: str, body: Body, request: Request
    ) -> None:
        bracketed = f"[{address}]" if ":" in address else address
        curl.setopt(pycurl.URL, target.url)
        curl.setopt(pycurl.CONNECT_TO, [f"::{bracketed}:{target.server.port}"])
        curl.setopt(pycurl.PROXY, "")
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_FTP)
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.USERNAME, self._login[0])
        curl.setopt(pycurl.PASSWORD, self._login[1])
        curl.setopt(pycurl.FTP_SKIP_PASV_IP, 1)
        curl.setopt(pycurl.OPT_FILETIME, 1)
        curl.setopt(pycurl.WRITEFUNCTION, lambda data: None if body.write(data) else -1)
        curl.setopt(pycurl.HEADERFUNCTION, lambda line: None)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, min(int(self._limits.connect * 1000), 2**31 - 1))
        curl.setopt(pycurl.TIMEOUT_MS, min(int(self._limits.total * 1000), 2**31 - 1))
        curl.setopt(pycurl.LOW_SPEED_LIMIT, self._limits.low_speed)
        curl.setopt(pycurl.LOW_SPEED_TIME, min(round(self._limits.low_speed_time), 2**31 - 1))
        if request.modified_since_ms and not target.path.endswith("/"):
            curl.setopt(pycurl.TIMECONDITION, pycurl.TIMECONDITION_IFMODSINCE)
            curl.setopt(pycurl.TIMEVALUE, request.modified_since_ms // 1000)

    def _perform(
        self, curl: Any, target: RequestTarget, address: str, body: Body, request: Request
    ) -> Response | Failure:
        started = self._monotonic()
        code, message = 0, ""
        try:
            curl.perform()
        except pycurl.error as error:
            code, message = error.args[0], curl.errstr() or str(error.args[-1])
        elapsed_ms = round(curl.getinfo(pycurl.TOTAL_TIME) * 1000)
        if code in _CODES:
            return Response(
                request.url, _CODES[code], ip=address, sent=started, elapsed_ms=elapsed_ms
            )
        if code and not body.truncated:
            if body.wire_bytes and code == pycurl.E_OPERATION_TIMEDOUT:
                body.truncated = Truncation.TIME
            else:  # a file that broke off, too: body.py has the rule
                kind = self._kind(curl, code, message)
                masked_message = self._mask.masked(message)
                return Failure(request.url, kind, masked_message, started, elapsed_ms)
        unchanged = bool(curl.getinfo(pycurl.CONDITION_UNMET))
        content, truncated = body.content(), body.truncated
        headers = _headers(curl.getinfo(pycurl.INFO_FILETIME))
        if target.path.endswith("/"):
            entries = _entries(content.decode("utf-8", "surrogateescape"))
            limit = self._limits.body_of(request.max_bytes)
            content, cut = listing_page(target.path, entries, limit)
            truncated = truncated or cut
            headers = (("Content-Type", "text/html; charset=utf-8"), *headers)
        return Response(
            request.url,
            304 if unchanged else 200,
            headers,
            content,
            truncated,
            ip=address,
            version="FTP",
            sent=started,
            elapsed_ms=elapsed_ms,
        )

    @staticmethod
    def _kind(curl: Any, code: int, message: str) -> FailureKind:
        if code == pycurl.E_OPERATION_TIMEDOUT:
            if not curl.getinfo(pycurl.CONNECT_TIME):
                return FailureKind.CONNECT_TIMEOUT
            slow = message.startswith("Operation too slow")
            return FailureKind.LOW_SPEED if slow else FailureKind.TOTAL_TIMEOUT
        if code == pycurl.E_COULDNT_CONNECT:
            kind = CONNECT_ERRNO_KINDS.get(curl.getinfo(pycurl.OS_ERRNO))
            if kind is not None:
                return kind
        return failure_kind(code, message, proxied=False)


def _headers(modified: int) -> Headers:
    return (("Last-Modified", formatdate(modified, usegmt=True)),) if modified > 0 else ()


def _entries(listing: str) -> Iterator[tuple[str, bool]]:
    """The entries of a LIST as Unix or Windows servers write it; other lines are skipped."""
    for line in listing.splitlines():
        match = _UNIX.fullmatch(line.rstrip()) or _DOS.fullmatch(line.rstrip())
        if match is None:
            continue
        name, kind = match["name"], match["kind"]
        if kind == "l":
            name = name.partition(" -> ")[0]
        if name not in (".", ".."):
            yield name, kind in ("d", "<DIR>")
