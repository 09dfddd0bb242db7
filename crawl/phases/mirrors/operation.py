"""mirrors as an operation."""

from __future__ import annotations

from typing import Any

from crawl.operations.operation import Asked, Operation
from crawl.operations.view import Note, Part, Table, View
from crawl.operations.work import Work
from crawl.phases.mirrors.options import MirrorsOptions
from crawl.phases.mirrors.rules import MirrorEvidence

NOTHING_FOUND = 1


def run(work: Work, options: MirrorsOptions) -> dict[str, Any]:
    from crawl.driver.phase_run import read_crawldb
    from crawl.phases.mirrors import run as driver

    hosts, protocols = options.hosts_file, options.protocols_file
    driver.check_files(hosts, protocols)
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
    if hosts is not None:
        answer["hosts"] = driver.write_host_rules(hosts, result, work.clock)
    if protocols is not None:
        answer["protocols"] = driver.write_scheme_rules(protocols, result, work.clock)
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
    view: list[Part] = [
        Table("mirrors", columns, rows),
        Note(f"{len(rows):,} among {answer['pages']:,} pages"),
    ]
    files = {"hosts": asked.options.hosts_file, "protocols": asked.options.protocols_file}
    view += [
        Note(f"{answer[name]:,} rules in {path}")
        for name, path in files.items()
        if path is not None
    ]
    return view


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
