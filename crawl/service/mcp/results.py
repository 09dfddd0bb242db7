"""What a tool answers: values for programs, and the same as text for models. Both are bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from crawl.errors import ServiceFault
from crawl.printable import json_text
from crawl.service.mcp.untrusted import NOTICE, bounded, cleaned, cut, marked

Json = dict[str, Any]
MAX_RESULT = 200_000
"""Characters of an answer, about; what is beyond is left out, and it is said how much."""
_SUMMARY = (
    "url",
    "final_url",
    "status",
    "code",
    "reason",
    "title",
    "description",
    "language",
    "type",
    "published",
    "content_type",
    "truncated",
)
_MAX_DESCRIPTION = 500


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call comes back with."""

    values: Json
    text: str
    is_error: bool = False


def page_result(page: Mapping[str, Any], start: int, most: int, nonce: str) -> ToolResult:
    """One page with its metadata and, where it has any, a piece of its text."""
    known = {name: each for name, each in page.items() if name not in ("markdown", "timings_ms")}
    values: Json = {"state": "known", "notice": NOTICE, "page": _with_moments(bounded(known))}
    lines = [_headline(page), NOTICE]
    content = [json_text(_card(values["page"]), indent=1)]
    text = page.get("markdown")
    if isinstance(text, str):
        piece, values["characters"] = cleaned(text[start : start + most]), len(text)
        values["markdown"] = marked(piece, nonce) if piece else ""
        content = [*_title_lines(page), piece]
        end = min(start + most, len(text))
        if end < len(text):
            values["next_start"] = end
    lines.append(marked("\n".join(content), nonce))
    if text == "":
        lines.append(
            "No main text was found on the page; format=metadata has what it says of itself."
        )
    if "next_start" in values:
        lines.append(
            f"Characters {start:,} to {values['next_start']:,} of {len(text or ''):,};"
            f" go on with start={values['next_start']}."
        )
    return ToolResult(values, "\n\n".join(lines))


def waiting_result(job: Mapping[str, Any], url: str) -> ToolResult:
    """A page that is still fetched."""
    values: Json = {"state": "queued", "url": cut(url, 4096), "job": str(job.get("id") or "")}
    return ToolResult(
        values,
        f"{values['url']} is queued, and not fetched yet: servers are asked one request at a"
        " time. Call fetch or lookup for it again later; it is not lost.",
    )


def pages_result(asked: Sequence[str], pages: Sequence[Any], nonce: str) -> ToolResult:
    """What is known of some URLs, in their order."""
    entries: list[Json | None] = [
        None if each is None else summary({**each, "url": url})
        for url, each in zip(asked, pages, strict=True)
    ]
    shown, omitted = _within(entries)
    values: Json = {"notice": NOTICE, "pages": shown, "omitted": omitted}
    known = sum(each is not None for each in shown)
    text = json_text(
        [
            {"url": cut(url, 4096), "known": False} if each is None else each
            for url, each in zip(asked, shown, strict=False)
        ],
        indent=1,
    )
    lines = [f"{known} of {len(shown)} URLs are known.", NOTICE, marked(text, nonce)]
    if omitted:
        lines.append(f"{omitted} more were left out of this answer: ask for them by themselves.")
    return ToolResult(values, "\n\n".join(lines))


def search_result(answer: Mapping[str, Any], nonce: str) -> ToolResult:
    """The hits of a query."""
    wanted = ("url", "title", "snippet", "language", "type", "modified", "fetched", "score")
    hits = [
        {name: bounded(each[name]) for name in wanted if each.get(name) not in (None, "")}
        for each in answer.get("hits", ())
    ]
    shown, omitted = _within(hits)
    values: Json = {
        "notice": NOTICE,
        "total": int(answer.get("total") or 0),
        "hits": shown,
        "omitted": omitted,
    }
    lines = [f"{values['total']:,} pages match; {len(shown)} are shown."]
    meant = cut(str(answer.get("didYouMean") or ""), 500)
    if meant:
        values["did_you_mean"] = meant
    if answer.get("relaxed"):
        values["relaxed"] = True
        lines.append("No page has all words; these have most of them.")
    lines += [NOTICE, marked(json_text(shown, indent=1), nonce)]
    return ToolResult(values, "\n\n".join(lines))


def crawl_result(
    crawl: Mapping[str, Any], finished: Sequence[Mapping[str, Any]], most: int, nonce: str
) -> ToolResult:
    """How far a site's crawl is, with some of its pages."""
    entries = [_crawled(each, most) for each in finished]
    shown, omitted = _within(entries)
    names = ("id", "state", "asked", "pages", "failed", "outstanding", "left_out")
    status: Json = {name: bounded(crawl[name]) for name in names if name in crawl}
    values: Json = {"notice": NOTICE, "crawl": status, "pages": shown}
    if shown:
        values["next_after"] = shown[-1]["number"]
    got = int(crawl.get("pages") or 0) + int(crawl.get("failed") or 0)
    lines = [
        f"Crawl {status.get('id')} is {status.get('state')}: {crawl.get('pages', 0)} pages came,"
        f" {crawl.get('failed', 0)} URLs failed, {crawl.get('outstanding', 0)} are on their way."
    ]
    if shown:
        lines += [NOTICE, marked(json_text(shown, indent=1), nonce)]
    is_running = crawl.get("state") == "running"
    if omitted or is_running or (shown and shown[-1]["number"] < got):
        after = values.get("next_after")
        behind = "" if after is None else f" and after={after}"
        lines.append(f"Go on with crawl_status, crawl={status.get('id')}{behind}.")
    return ToolResult(values, "\n\n".join(lines))


def error_result(fault: ServiceFault) -> ToolResult:
    """Why a call came to nothing, by the service's own code."""
    error: Json = {"code": fault.code or "unreachable", "message": cut(str(fault), 1000)}
    text = error["message"]
    if fault.retry_after_seconds is not None:
        error["retry_after_seconds"] = fault.retry_after_seconds
        text += f"; try again in {fault.retry_after_seconds:g} s"
    return ToolResult({"error": error}, text, is_error=True)


def summary(page: Mapping[str, Any]) -> Json:
    """A page in a list."""
    short: Json = {
        name: cut(str(page[name]), 4096 if name.endswith("url") else _MAX_DESCRIPTION)
        if isinstance(page[name], str)
        else page[name]
        for name in _SUMMARY
        if page.get(name) not in (None, "") and isinstance(page[name], str | int)
    }
    if short.get("final_url") == short.get("url"):
        short.pop("final_url", None)
    return _with_moments({**short, "fetched_ms": page.get("fetched_ms")})


def _crawled(finished: Mapping[str, Any], most: int) -> Json:
    page = finished.get("page")
    view = page if isinstance(page, Mapping) else finished
    entry = {"number": int(finished.get("number") or 0), **summary(view)}
    text = view.get("markdown")
    if isinstance(text, str) and text:
        entry["markdown"] = cleaned(text[:most]) + ("…" if len(text) > most else "")
    return entry


def _within(entries: Sequence[Any]) -> tuple[list[Any], int]:
    """As many as have room in an answer, the first always; and how many have not."""
    room, shown = MAX_RESULT // 2, list[Any]()
    for each in entries:
        room -= len(json_text(each))
        if room < 0 and shown:
            break
        shown.append(each)
    return shown, len(entries) - len(shown)


def _with_moments(page: Json) -> Json:
    """Moments as texts, which models read better than milliseconds."""
    changed = dict(page)
    for name in ("fetched_ms", "changed_ms"):
        milliseconds = changed.pop(name, None)
        if isinstance(milliseconds, int) and milliseconds > 0:
            changed[name.removesuffix("_ms") + "_at"] = _moment(milliseconds)
    return changed


def _moment(milliseconds: int) -> str | None:
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None
    return moment.isoformat(timespec="seconds")


def _headline(page: Mapping[str, Any]) -> str:
    """Only what the asker and we say: where a redirect leads is the site's word."""
    url, status = cut(str(page.get("url", "")), 4096), cut(str(page.get("status", "")), 100)
    code = page.get("code") or 0
    return f"{url}: {status}, {f'HTTP status {code}' if code else 'no answer of HTTP'}"


def _title_lines(page: Mapping[str, Any]) -> list[str]:
    """Title and description above a text."""
    lines = [
        f"{name}: {cut(str(page[name]), _MAX_DESCRIPTION)}"
        for name in ("final_url", "title", "description", "published")
        if page.get(name) and page[name] != page.get("url")
    ]
    return [*lines, ""] if lines else []


def _card(page: Json) -> Json:
    """What a page says of itself, without what is said above it."""
    return {name: each for name, each in page.items() if name not in ("chain", "segment")}
