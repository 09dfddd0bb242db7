"""Brings damaged datasets, the CrawlDb and what else is there, back to their newest whole snapshot.

Of what is made of segments (LinkDb, link graph, HostDb) nothing stays where no snapshot is whole,
so that it can be made anew.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from crawl.errors import StorageError
from crawl.hints import command
from crawl.model.derived_tables import MADE_BY, WEBGRAPH_SCORES
from crawl.model.tables import CACHES, HOSTS
from crawl.storage.checking import fault_of, files_of
from crawl.storage.manifest import Timeline
from crawl.storage.quarantine import Quarantine
from crawl.storage.sealed_file import COPY, SealedFile
from crawl.storage.snapshot import MANIFEST, REPORT, SNAPSHOTS, Dataset

_SMALL = (MANIFEST, MANIFEST + COPY, REPORT)


@dataclass(frozen=True, slots=True)
class DatasetRepair:
    """Mends one dataset after the other. Only for whoever holds their locks."""

    job: Quarantine

    def mend(self, dataset: Dataset, pointer: SealedFile) -> None:
        """Goes to the newest whole snapshot; `pointer` is that of the lock's holder."""
        where = dataset.name
        self.job.reports(where)
        numbers = dataset.manifests()
        for number in numbers:
            if dataset.is_whole(number) and dataset.manifest_file(number).heal():
                self.job.actions.append(
                    f"made {where}/{dataset.manifest_file(number).name} and its copy the same"
                )
            self._forget_damaged(dataset, number)
        whole = [number for number in numbers if self._is_whole(dataset, number)]
        try:
            timeline = dataset.timeline()
            survivors = [number for number in timeline.numbers if number in whole]
        except StorageError:
            timeline, survivors = Timeline(), whole
        if not numbers and not timeline.numbers:
            with suppress(StorageError):  # both are damaged
                # a first job was killed between the two
                if dataset.pointer.heal():
                    self.job.actions.append(f"wrote {where}/CURRENT or its copy from the other")
                if dataset.pointer.look()[0] is not None:
                    return
            for name in (dataset.pointer.name, dataset.pointer.copy):
                if f"{where}/{name}" in self.job.bad:
                    self.job.set_aside(f"{where}/{name}")
            return
        if not survivors:
            survivors = whole  # none that was kept is whole, but one that was not published is
        if not survivors and (where in CACHES or where in MADE_BY):
            for name in (SNAPSHOTS, dataset.pointer.name, dataset.pointer.copy):
                self.job.set_aside(f"{where}/{name}")
            anew = "it is learnt anew"
            if where in MADE_BY:
                again = command(MADE_BY[where], self.job.directory.address)
                anew = f"`{again}` makes it anew of what is there"
            self.job.actions.append(f"found no snapshot of {where} that is whole: {anew}")
            return
        if not survivors:
            kept_as = "the CrawlDb" if dataset is self.job.directory.crawldb else where
            self.job.actions.append(f"found no snapshot that is whole: {kept_as} is left as it is")
            return
        following = max(timeline.next_number, numbers[-1] + 1)
        if tuple(survivors) == timeline.numbers:
            if pointer.heal():
                self.job.actions.append(f"made {where}/CURRENT and its copy the same")
        else:
            self._set_aside_others(dataset, survivors)
            for name in (dataset.pointer.name, dataset.pointer.copy):
                if f"{where}/{name}" in self.job.bad:
                    self.job.set_aside(f"{where}/{name}")
            # what was set aside or is damaged is not what it was: it is replaced as it is now
            pointer.pin()
            dataset.move(Timeline(tuple(survivors), following), pointer)
            of = "" if dataset is self.job.directory.crawldb else f" of {where}"
            self.job.actions.append(f"made snapshot {survivors[-1]}{of} the current one")

    def _forget_damaged(self, dataset: Dataset, number: int) -> None:
        """What is known of hosts is learnt anew, and scores of the link graph are computed anew:
        neither is a reason to go back a snapshot."""
        try:
            snapshot = dataset.snapshot(number)
        except StorageError:
            return
        usable = tuple(
            file for file in snapshot.hosts if f"{dataset.name}/{file.path}" not in self.job.bad
        )
        if usable != snapshot.hosts:
            lost = len(snapshot.hosts) - len(usable)
            snapshot = replace(snapshot, hosts=usable)
            dataset.manifest_file(number).write(snapshot.as_dict())
            line = f"snapshot {number}: forgot the hosts in trouble of {lost} buckets"
            self.job.actions.append(line)
        attached = dict(snapshot.attached)
        scores = attached.pop(WEBGRAPH_SCORES.name, ())
        if not any(f"{dataset.name}/{file.path}" in self.job.bad for file in scores):
            return
        dataset.manifest_file(number).write(replace(snapshot, attached=attached).as_dict())
        for file in scores:
            self.job.set_aside(f"{dataset.name}/{file.path}")
        again = command("linkrank", self.job.directory.address)
        self.job.actions.append(
            f"snapshot {number} of {dataset.name}: forgot its scores; `{again}` computes them anew"
        )

    def _is_whole(self, dataset: Dataset, number: int) -> bool:
        try:
            tables = files_of(dataset, dataset.snapshot(number))
        except StorageError:
            return False
        files = [file for file in tables if file.table is not HOSTS]
        bad = self.job.bad
        return not any(file.path in bad for file in files) and not any(map(fault_of, files))

    def _set_aside_others(self, dataset: Dataset, survivors: list[int]) -> None:
        """All that no kept snapshot names: the next writer would delete it."""
        named: set[str] = set()
        for number in survivors:
            named.update(file.path for file in dataset.snapshot(number).all_files)
            named.update(f"{SNAPSHOTS}/{number:06d}/{name}" for name in _SMALL)
        for name in dataset.folder.files(SNAPSHOTS):
            if f"{SNAPSHOTS}/{name}" not in named:
                self.job.set_aside(f"{dataset.name}/{SNAPSHOTS}/{name}")
