"""Why URLs are not fetched: the reasons that are counted, and what is said of them to askers.

A URL may be refused as it comes, as a redirect's target, or at the connection, when its host turns
out to lead to an address that must not be asked: it is one reason all the same.
"""

from __future__ import annotations

from crawl.service.values import Finished, JobState, Page

ADDRESS = "address"
_AT_CONNECTION = "blocked(address_refused"
"""How the record of a page says so whose name leads to an address that must not be asked."""
_REDIRECT = "redirect"
_IN_WORDS = {
    ADDRESS: "its host is, or leads to, an address that is not of the public internet; where"
    " that is wanted, http.filter.ipaddress.allow.private or http.filter.ipaddress.include of the"
    " service allows it",
    "busy": "too much waits to be fetched: come back later",
    "host_busy": "too much of this host waits to be fetched: come back later",
    "malformed": "it is no URL",
    "too_long": "it is longer than any URL that is fetched",
    "scheme": "only http and https are fetched",
    "out_of_scope": "it is outside of the scope",
    "loop": "it leads in a circle",
    "too_many": "it leads through too many others",
    "no_target": "it leads to no URL",
    "robots_deferred": "its robots.txt cannot be had now, so nothing may be asked for: come back"
    " in some minutes",
    "crawl_delay_too_long": "its robots.txt asks for longer pauses than fetcher.max.crawl.delay",
    "tries": "it was asked for service.tries times in vain",
    "long_pause": "its server wants to be left alone for longer than service.max.wait",
}


def in_words(reason: str) -> str:
    """The reason as a sentence for people."""
    kind, _, name = reason.partition(".")
    if kind == _REDIRECT and name:
        return f"it redirects, and its target is not fetched: {in_words(name)}"
    if kind == "filtered" and name:
        return f"the URL filter {name} of the service rejects it"
    return _IN_WORDS.get(reason, reason)


def reason_of(page: Page) -> str:
    """Why it is no page. Of a refused address no more is told: where a name leads in the
    service's own network is nobody's business."""
    return ADDRESS if page.reason.startswith(_AT_CONNECTION) else page.reason


def reason_of_end(finished: Finished) -> str:
    """The same of a job that ended; empty where there is a page."""
    page = finished.page
    if page is not None and finished.reason in ("", page.reason):
        return reason_of(page)
    return finished.reason


def refusal_of(finished: Finished) -> str:
    """The rule by which it was not fetched; empty where its server was asked to the end."""
    reason = reason_of_end(finished)
    is_refused = (
        finished.state is JobState.REFUSED
        or reason == ADDRESS
        or reason.startswith(f"{_REDIRECT}.")
    )
    return reason if is_refused else ""
