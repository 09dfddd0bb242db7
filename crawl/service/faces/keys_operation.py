"""keys as operations: who may ask a service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from crawl.errors import NothingToDo
from crawl.hints import command
from crawl.operations.operation import Asked, Operation
from crawl.operations.options import option
from crawl.operations.view import Line, Note, Table, View
from crawl.operations.work import Work
from crawl.printable import printable

if TYPE_CHECKING:
    from crawl.service.callers.keys import APIKey, KeyRing

_GROUP_HELP = """
API keys of the service of CRAWL_DIR (`crawl serve`), which keeps only their hashes.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeOptions:
    """The options of keys make."""

    name: Annotated[str, option("What the key is for.", argument=True)]
    scope: Annotated[
        tuple[str, ...],
        option(
            "What it may do: submit, fetch, lookup, search, crawl, webhooks, admin; several"
            " times.  [default: submit, fetch, lookup, search]",
            metavar="SCOPE",
        ),
    ] = ()
    new: Annotated[bool, option("Begin the crawl where CRAWL_DIR is none yet.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """keys list has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyOptions:
    """The options of what is done with one key."""

    id: Annotated[str, option("The key's id, as `keys list` shows it.", argument=True)]


_DEFAULT_SCOPES = ("submit", "fetch", "lookup", "search")


def run_make(work: Work, options: MakeOptions) -> dict[str, Any]:
    from crawl.service.callers.keys import checked_name, checked_scopes

    # before anything is made
    name, scopes = checked_name(options.name), checked_scopes(options.scope or _DEFAULT_SCOPES)
    with _ring_to_add_to(work, options) as ring:
        made = ring.make(name, scopes)
    return {**_values(made.key), "key": made.text}


def run_list(work: Work, options: ListOptions) -> list[dict[str, Any]]:
    with _ring(work) as ring:
        return [{**_values(each.key), "lastUsedMs": each.used_ms or None} for each in ring.list()]


def run_rotate(work: Work, options: KeyOptions) -> dict[str, Any]:
    with _ring(work) as ring:
        made = ring.rotate(options.id)
    return {**_values(made.key), "key": made.text}


def run_disable(work: Work, options: KeyOptions) -> dict[str, Any]:
    with _ring(work) as ring:
        return _values(ring.disable(options.id))


def run_enable(work: Work, options: KeyOptions) -> dict[str, Any]:
    with _ring(work) as ring:
        return _values(ring.enable(options.id))


@contextmanager
def _ring(work: Work) -> Iterator[KeyRing]:
    """The keys of a crawl that has some."""
    from crawl.service.place import has_own_store, require_crawl

    require_crawl(work.directory, work.config)
    if not has_own_store(work.directory, work.config):
        make = command("keys", "make", work.directory.address, "NAME")
        raise NothingToDo(f"{work.directory.address} has no keys: `{make}` makes one")
    with _opened_ring(work) as ring:
        yield ring


@contextmanager
def _ring_to_add_to(work: Work, options: MakeOptions) -> Iterator[KeyRing]:
    """The keys of a crawl that may have none yet."""
    from crawl.service.place import require_crawl

    if options.new:
        work.directory.require_writable()
    else:
        begin = command("keys", "make", work.directory.address, "NAME", "--new")
        require_crawl(
            work.directory, work.config, f"check the path, or begin a crawl there by `{begin}`"
        )
    with _opened_ring(work) as ring:
        yield ring


@contextmanager
def _opened_ring(work: Work) -> Iterator[KeyRing]:
    from crawl.service.callers.keys import KeyRing
    from crawl.service.place import open_store_of

    store = open_store_of(work.directory, work.config, work.clock)
    try:
        yield KeyRing.of(work.config, store, work.clock)
    finally:
        store.close()


def _values(key: APIKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": [str(scope) for scope in key.scopes],
        "createdMs": key.created_ms,
        "disabled": key.is_disabled,
    }


def _render_made(made: dict[str, Any], asked: Asked) -> View:
    about = f"key {made['id']} of {printable(made['name'], 100)} may {', '.join(made['scopes'])}"
    return [Line(made["key"]), Note(f"{about}; it is shown this once")]


def _render_list(keys: list[dict[str, Any]], asked: Asked) -> View:
    if not keys:
        return [Note("there is no key")]
    rows: list[list[object]] = [
        [
            each["id"],
            printable(each["name"], 100),
            ", ".join(each["scopes"]),
            "disabled" if each["disabled"] else "active",
        ]
        for each in keys
    ]
    return [Table("Keys", ["id", "name", "may", "state"], rows)]


def _render_key(key: dict[str, Any], asked: Asked) -> View:
    return [Note(f"key {key['id']} is {'disabled' if key['disabled'] else 'active'}")]


OPERATIONS = (
    Operation(
        name="keys_make",
        command="keys",
        command_help=_GROUP_HELP,
        word="make",
        run=run_make,
        render=_render_made,
        method="",
        help="Make a key. It is printed once, and stored only as a hash.",
        examples=("crawl keys make mycrawl newsroom --scope submit --scope fetch",),
    ),
    Operation(
        name="keys_list",
        command="keys",
        word="list",
        run=run_list,
        render=_render_list,
        method="",
        help="List the keys: their names, what they may do, and whether they are disabled.",
        examples=("crawl keys list mycrawl",),
    ),
    Operation(
        name="keys_rotate",
        command="keys",
        word="rotate",
        run=run_rotate,
        render=_render_made,
        method="",
        help="Give a key a new secret; the old one is refused from now on.",
        examples=("crawl keys rotate mycrawl 3f9a1c",),
    ),
    Operation(
        name="keys_disable",
        command="keys",
        word="disable",
        run=run_disable,
        render=_render_key,
        method="",
        help="Refuse a key from now on.",
        examples=("crawl keys disable mycrawl 3f9a1c",),
    ),
    Operation(
        name="keys_enable",
        command="keys",
        word="enable",
        run=run_enable,
        render=_render_key,
        method="",
        help="Accept a key again that was disabled.",
        examples=("crawl keys enable mycrawl 3f9a1c",),
    ),
)
