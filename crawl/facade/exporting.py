"""Export as a method."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from crawl.clock import SystemClock
from crawl.driver.prechecks import require_segments, require_unlocked
from crawl.errors import UsageError
from crawl.facade.arguments import check_whole_number, segment_names
from crawl.facade.base import Handle
from crawl.facade.results import ExportedDataset, exported_dataset

Choice = TypeVar("Choice", bound=StrEnum)


class Exporting(Handle):
    """The crawl's way into datasets."""

    def export(
        self,
        output: str | Path,
        *,
        format: str = "jsonl",
        text: str | None = None,
        since: int | None = None,
        chunk: int | None = None,
        chunk_unit: str = "characters",
        segments: Iterable[str] = (),
        filter: bool = False,
        overwrite: bool = False,
        steal_lock: bool = False,
    ) -> ExportedDataset:
        """Writes the pages as a dataset into a folder: `jsonl`, `parquet`, `wet`, or a file of
        `markdown` each; their text `main`, as `markdown`, or `full`. `since` a snapshot of the
        CrawlDb: only what is new, changed or gone. `chunk`: a record a piece of at most so many
        `characters` or `words`.

            >>> web.export("dataset", format="parquet", text="markdown", overwrite=True).records
        """
        from crawl.phases.export import run as export
        from crawl.phases.export.run import ExportOptions
        from crawl.phases.export.tasks.values import (
            SHORTEST_CHUNK,
            ChunkUnit,
            ExportFormat,
            TextKind,
        )
        from crawl.rounds.derived import behind_lines
        from crawl.storage.folder import Folder, absolute

        with self._working():
            check_whole_number("since", since, least=0)
            check_whole_number("chunk", chunk, least=SHORTEST_CHUNK)
            if not isinstance(output, str | Path) or not str(output):
                raise UsageError(f"output: expected a path or an address, got {output!r}")
            options = ExportOptions(
                str(output),
                _choice("format", format, ExportFormat),
                None if text is None else _choice("text", text, TextKind),
                segment_names(segments),
                since,
                chunk,
                _choice("chunk_unit", chunk_unit, ChunkUnit),
                filter=filter,
                overwrite=overwrite,
                steal_lock=steal_lock,
            )
            self._directory.require_crawldb()
            require_segments(self._directory, options.segments)
            export.check(self._config, options)
            export.choose(self._directory, options)
            require_unlocked(Folder(absolute(options.output)), self._config, steal_lock=steal_lock)
            lacking = behind_lines(self._directory, ("scoreupdater", "dedup"))
            with self._runner() as runner:
                done = export.run(runner, self._directory, self._config, options, SystemClock())
        return exported_dataset(
            done.report,
            output=done.output,
            records=done.records,
            files=done.files,
            segments=done.segments,
            remarks=(*done.remarks, *lacking, done.took_over),
        )


def _choice(name: str, value: object, choices: type[Choice]) -> Choice:
    known = [each.value for each in choices]
    if value not in known:
        raise UsageError(f"{name}: expected {', '.join(known)}, got {value!r}")
    return choices(value)
