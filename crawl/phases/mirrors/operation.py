"""mirrors as an operation."""

from __future__ import annotations

from typing import Any

from crawl.operations.operation import Asked, Operation
from crawl.operations.view import Note, Table, View
from crawl.operations.work import Work
from crawl.phases.mirrors.options import MirrorsOptions
from crawl.phases.mirrors.rules import MirrorEvidence

NOTHING_FOUND = 1


def run(work: Work, options: MirrorsOptions) -> dict[str, Any]:
    from crawl.driver.phase_run import read_crawldb
    from crawl.phases.mirrors import run as driver

    driver.check_files(*options.files.values())
    result = read_crawldb(
        work,
        lambda runner, state: driver.run(runner, work.directory, state, options.bounds),
        options.snapshot,
    )
    answer: dict[str, Any] = {
        "pages": result.pages,
        "shared_pages": result.shared_pages,
        "mirrors": list(map(_mirror_values, result.mirrors)),
    }
    for kind, path in options.files.items():
        answer[kind] = driver.write_rules(kind, path, result, work.clock)
    return answer


def _mirror_values(evidence: MirrorEvidence) -> dict[str, Any]:
    return {
        "mirror": evidence.mirror,
        "of": evidence.site,
        "kind": str(evidence.kind),
        "pages": evidence.mirror_pages,
        "of_pages": evidence.site_pages,
        "common": evidence.common,
        "agreeing": evidence.agreeing,
        "contents": evidence.contents,
        "sampled": evidence.sampled,
    }


def render(answer: dict[str, Any], asked: Asked) -> View:
    columns = ["mirror", "of", "kind", "pages", "of's pages", "common", "agreeing", "contents"]
    rows = [list(each.values())[: len(columns)] for each in answer["mirrors"]]
    return [
        Table("mirrors", columns, rows),
        Note(f"{len(rows):,} among {answer['pages']:,} pages"),
        *(Note(f"{answer[kind]:,} rules in {path}") for kind, path in asked.options.files.items()),
    ]


OPERATION = Operation(
    name="mirrors",
    run=run,
    render=render,
    code=lambda answer, asked: 0 if answer["mirrors"] else NOTHING_FOUND,
    uses_spark=True,
    help="""
    Find sites of CRAWL_DIR that are copies of others: with and without `www.`, http and https,
    whole copies on other hosts. Exit code 1 where there are none.
    """,
    examples=(
        "crawl mirrors mycrawl",
        "crawl mirrors mycrawl --min-contents 50 --json",
        "crawl mirrors mycrawl --hosts-file conf/host-urlnormalizer.txt",
        "crawl mirrors mycrawl --protocols-file conf/protocols.txt",
    ),
    calls=('web.mirrors()["mirrors"]', 'web.mirrors(hosts_file="host-urlnormalizer.txt")["hosts"]'),
)
