"""Session ids in the links of some sites: a parameter whose value is the linking page's and that
changes nothing, beside one that does."""

from __future__ import annotations

import re
from typing import NamedTuple

from crawl.synthetic.web.plan import WebPlan

PART = "part"
"""A parameter that matters: of every third page there are further parts."""
_PARTS = 3
_VISITS = 5
"""Values of a session id on a site."""
_PATH_PARAM = ";"


class SessionPath(NamedTuple):
    """A path without its session id."""

    path: str
    part: int


def session_of(plan: WebPlan, site: int) -> str:
    """The parameter of a site: a name, one after a semicolon for the path, or nothing."""
    names = plan.settings.sessions
    return names[site % len(names)] if names else ""


def link_path(plan: WebPlan, site: int, linking: int, target: int) -> str:
    """The path of a page as a page of the same site links to it."""
    path = plan.path(site, target)
    session = session_of(plan, site)
    if not session:
        return path
    visit = f"{plan.draws(site, linking % _VISITS).links:08x}"
    part = (linking + target) % _PARTS if target % 3 == 0 and target else 0
    query = f"{PART}={part}" if part else ""
    if session.startswith(_PATH_PARAM):
        return f"{path}{session}={visit}" + (f"?{query}" if query else "")
    return f"{path}?{session}={visit}" + (f"&{query}" if query else "")


def without_session(plan: WebPlan, site: int, path: str) -> SessionPath:
    """What a path with a query means on a site."""
    session = session_of(plan, site)
    if not session:
        return SessionPath(path, 0)
    if session.startswith(_PATH_PARAM):
        path = re.sub(rf"{re.escape(session)}=[0-9a-f]*", "", path)
    path, _, query = path.partition("?")
    pieces = [each for each in query.split("&") if each]
    pieces = [each for each in pieces if each.partition("=")[0] != session]
    part = 0
    if pieces and (match := re.fullmatch(rf"{PART}=([1-9])", pieces[-1])):
        part = int(match[1])
        pieces.pop()
    return SessionPath(path + ("?" + "&".join(pieces) if pieces else ""), part)
