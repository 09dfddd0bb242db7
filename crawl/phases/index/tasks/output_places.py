"""Whether the folder of each writer is its own: what the ledger does not name there is deleted
(outputs.py), so that another writer's files, or another crawl's, would be lost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from crawl.errors import UsageError
from crawl.hints import command
from crawl.phases.index.tasks.outputs import (
    FOLDERS,
    noted_folder,
    noted_outputs,
    output_address,
    output_folder,
)
from crawl.phases.index.tasks.writers import WriterSpec
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot


def check_places(
    crawl_dir: CrawlDir,
    specs: Sequence[WriterSpec],
    ledger: Snapshot | None,
    *,
    rebuild: bool = False,
) -> None:
    """Raises UsageError where a writer's folder is another's, or not where its files are."""
    outputs = noted_outputs(ledger)
    noted = {
        writer: noted_folder(crawl_dir, writer, output)
        for writer, output in outputs.items()
        if output.shards
    }
    places = {writer: _place(folder.address) for writer, folder in noted.items()}
    given = {spec.id: _place(output_folder(crawl_dir, spec).address) for spec in specs}
    for one, other in combinations(sorted({**places, **given}.items()), 2):
        if one[1] == other[1]:
            raise UsageError(
                f"the index writers {one[0]} and {other[0]} would have one folder, {one[1]}: give"
                " each a path of its own"
            )
    for spec in specs:
        place = places.get(spec.id)
        if place == given[spec.id]:
            continue
        folder = output_folder(crawl_dir, spec)
        if place is not None and not rebuild:
            raise UsageError(
                f"{spec.id}: its files are in {place}, and it is to write to {given[spec.id]}:"
                f" `{command('index', crawl_dir.address, '--rebuild')}` makes them anew there, and"
                " a writer of another id has both"
            )
        if output_address(spec) and folder.exists(FOLDERS):
            raise UsageError(
                f"{spec.id}: {folder.address} holds an index that is not this crawl's: give the"
                " writer another path, or delete what is there"
            )


def _place(address: str) -> str:
    """The address as no other folder has it."""
    if "://" in address.removeprefix("file://") or "::" in address:
        return address.rstrip("/")
    return str(Path(address.removeprefix("file://")).resolve())
