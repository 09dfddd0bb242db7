"""Reports beside what they tell of: one that is damaged is as good as none.

What a phase counted is worth keeping, but nothing waits for it: whoever needs a figure of a
report must know what to do without.
"""

from __future__ import annotations

import logging
from typing import Any

from crawl.model.report import Report
from crawl.storage.folder import Folder
from crawl.storage.sealed import seal_text, unseal

_log = logging.getLogger(__name__)


def write_report(folder: Folder, name: str, report: Report) -> None:
    folder.write(name, seal_text(report.as_json()))


def read_report(folder: Folder, name: str) -> dict[str, Any]:
    """What a report says; nothing where there is none, or none that can be read."""
    return read_if_whole(folder, name) or {}


def read_if_whole(folder: Folder, name: str, *, unsealed: bool = True) -> dict[str, Any] | None:
    """What a sealed file says that nothing waits for (`unsealed` as in `unseal`); None where there
    is none, or none that can be read."""
    raw = folder.read(name)
    try:
        return None if raw is None else unseal(raw, unsealed=unsealed)
    except ValueError as error:
        _log.warning("%s is damaged and was passed over: %s", folder.path(name), error)
        return None
