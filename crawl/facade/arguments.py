"""Checks of what callers pass in: a wrong type is one line here, not a traceback far below."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from crawl.errors import UsageError


def check_whole_number(name: str, value: object, *, least: int = 1) -> None:
    """Raises UsageError unless the value is None or a whole number of at least `least`."""
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(f"{name}: expected a whole number of at least {least}, got {value!r}")


def check_number(name: str, value: object) -> None:
    """Raises UsageError unless the value is None or a number."""
    if value is not None and (not isinstance(value, int | float) or isinstance(value, bool)):
        raise UsageError(f"{name}: expected a number, got {value!r}")


def check_text(name: str, value: object) -> None:
    """Raises UsageError unless the value is None or a text."""
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name}: expected a text, got {value!r}")


Choice = TypeVar("Choice", bound=StrEnum)


def one_of(name: str, kind: type[Choice], value: str) -> Choice:
    """The value as one of a kind; raises UsageError where it is none."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(each.value for each in kind)
        raise UsageError(f"{name} must be one of {known}, not {value!r}") from None


def segment_names(segments: Iterable[str] | str) -> tuple[str, ...]:
    """The names in a list of segments, or the one name that was given instead of a list."""
    names = (segments,) if isinstance(segments, str) else _as_tuple("segments", segments)
    for name in names:
        check_text("segments", name)
    return names


def file_paths(files: Iterable[str | Path] | str | Path) -> tuple[str, ...]:
    """The paths in a list of files, or the one path that was given instead of a list."""
    paths = (files,) if isinstance(files, str | Path) else _as_tuple("files", files)
    for path in paths:
        if not isinstance(path, str | Path):
            raise UsageError(f"files: expected a path, got {path!r}")
    return tuple(str(path) for path in paths)


def seed_lines(urls: Iterable[str] | str) -> list[str]:
    """The URLs as lines of a seed file; raises UsageError for what is no URL."""
    lines = (urls,) if isinstance(urls, str) else _as_tuple("urls", urls)
    for url in lines:
        if not isinstance(url, str):
            raise UsageError(f"a URL is a text, not {url!r}; seed files go by `files=`")
        if "://" not in url:
            raise UsageError(f"{url!r} is no URL; seed files go by `files=`")
        if "\n" in url or "\r" in url:
            raise UsageError(f"{url!r}: a URL has no line break in it")
    return list(lines)


def _as_tuple(name: str, values: Iterable[str | Path]) -> tuple[str, ...]:
    try:
        return tuple(values)  # type: ignore[arg-type]  # callers check every element
    except TypeError:
        raise UsageError(f"{name}: expected a list, got {values!r}") from None
