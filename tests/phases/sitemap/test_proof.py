"""The scopes of sitemaps, as they go from destination to destination."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from crawl.phases.sitemap.tasks.proof import (
    ProofJob,
    send_scopes,
    send_unproved_hosts,
    spread_scopes,
    unproved_hosts,
    write_scopes,
)
from crawl.phases.sitemap.tasks.scratch_files import Topic, write_notes
from crawl.storage.folder import Folder
from crawl.storage.row_files import read_rows
from crawl.tables.runner import InProcess


def scopes_of(
    folder: Folder, own: dict[str, str], links: list[tuple[str, str]], destinations: int
) -> tuple[dict[str, set[str]], int]:
    """By sitemap all of its scopes, when those of every link's source are its target's, too; and
    how often somebody told another."""
    notes = [(Topic.SCOPE, name, scope, 0) for name, scope in own.items()]
    notes += [(Topic.LINK, source, target, 0) for source, target in links]
    # each by a task of its own
    files = [write_notes(folder, [note]) or "" for note in notes]
    job, rounds = ProofJob(folder, destinations, 1), 0
    everywhere = [(number, number) for number in range(destinations)]
    step = partial(spread_scopes, job)
    sent = InProcess().exchange(partial(send_scopes, job), files, destinations, "send")
    spread = sent.send(step, everywhere, destinations, "spread")
    while any(spread.results()):
        spread = spread.send(step, everywhere, destinations, "spread")
        rounds += 1
    found: dict[str, set[str]] = {}
    for name in spread.run(partial(write_scopes, job), everywhere, "write"):
        for row in read_rows(folder, name).to_pylist() if name else []:
            found.setdefault(row["name"], set()).add(row["value"])
    return found, rounds


@pytest.mark.parametrize("destinations", [1, 2, 5])
def test_scopes_go_down_the_indexes_also_where_these_lead_in_a_circle(
    tmp_path: Path, destinations: int
) -> None:
    own = {name: name.upper() for name in "abcd"}
    links = [("a", "b"), ("b", "c"), ("c", "b"), ("x", "d")]
    found, rounds = scopes_of(Folder(str(tmp_path)), own, links, destinations)
    assert found["a"] == {"A"}
    assert found["b"] == found["c"] == {"A", "B", "C"}
    assert found["d"] == {"D"}
    assert rounds == 3  # A to b, from there to c, from there to b, which knows it


@pytest.mark.parametrize("destinations", [1, 3])
def test_hosts_are_counted_over_all_tasks_and_those_that_were_asked_left_out(
    tmp_path: Path, destinations: int
) -> None:
    folder = Folder(str(tmp_path))
    noted = [
        [(Topic.UNPROVED, "a", "http://a", 5), (Topic.UNPROVED, "b", "http://b", 3)],
        [(Topic.UNPROVED, "b", "http://b", 4), (Topic.UNPROVED, "c", "http://c", 9)],
        [(Topic.ROBOTS_READ, "c", "", 0), (Topic.ROBOTS_READ, "z", "", 0)],
        [(Topic.UNPROVED, f"h{number}", f"http://h{number}", 1) for number in range(9)],
    ]
    files = [write_notes(folder, notes) or "" for notes in noted]
    sent = InProcess().exchange(
        partial(send_unproved_hosts, ProofJob(folder, destinations, 1)), files, destinations, "send"
    )
    tasks = [(number, number) for number in range(destinations)]
    results = sent.run(partial(unproved_hosts, 2), tasks, "choose")
    assert sum(each.count for each in results) == 2 + 9
    assert all(len(each.hosts) <= 2 for each in results)
    best = sorted((host for each in results for host in each.hosts), reverse=True)[:2]
    assert best == [(7, "b", "http://b"), (5, "a", "http://a")]
