"""dust as an operation."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from crawl.operations.operation import Asked, Operation
from crawl.operations.view import Note, Part, Table, View
from crawl.operations.work import Work
from crawl.phases.dust.options import DustOptions
from crawl.phases.dust.rules import RuleEvidence

NOTHING_FOUND = 1


def run(work: Work, options: DustOptions) -> dict[str, Any]:
    from crawl.driver.phase_run import read_crawldb
    from crawl.phases.dust import run as driver

    if options.apply is not None:
        driver.check_file(options.apply)
    hosts = [host.lower() for host in options.hosts]
    learnt = read_crawldb(
        work,
        lambda runner, state: driver.run(runner, work.directory, state, options.bounds, hosts),
        options.snapshot,
    )
    answer: dict[str, Any] = {
        "pages": learnt.pages,
        "rules": list(map(_rule_values, learnt.rules)),
        "doubtful": list(map(_rule_values, learnt.doubtful)),
    }
    if options.apply is not None:
        written = driver.write_rules(options.apply, learnt, work.clock)
        answer |= {"file": options.apply, "written": written}
    return answer


def _rule_values(evidence: RuleEvidence) -> dict[str, Any]:
    figures = asdict(evidence)
    host, rule = figures.pop("host"), figures.pop("rule")
    return {"host": host, "kind": str(rule["kind"]), "name": rule["name"], **figures}


def render(answer: dict[str, Any], asked: Asked) -> View:
    options: DustOptions = asked.options
    rules, hosts = len(answer["rules"]), len({each["host"] for each in answer["rules"]})
    view: list[Part] = [_table("rules", answer["rules"])]
    if options.doubtful:
        view.append(_table("doubtful", answer["doubtful"]))
    view.append(Note(f"{rules:,} rules for {hosts:,} hosts, from {answer['pages']:,} pages"))
    if options.apply is not None:
        view.append(
            Note(
                f"{answer['written']:,} rules in {options.apply}; they take effect with"
                " urlnormalizer.order=basic,regex,dust, and with"
                f" `crawl updatedb {asked.address} --normalize` for URLs that are known"
            )
        )
    return view


def _table(title: str, rules: list[dict[str, Any]]) -> Table:
    columns = ["host", "kind", "name", "contents", "values", "URLs", "exceptions"]
    return Table(title, columns, [list(each.values()) for each in rules])


OPERATION = Operation(
    name="dust",
    run=run,
    render=render,
    code=lambda answer, asked: 0 if answer["rules"] else NOTHING_FOUND,
    uses_spark=True,
    help="""
    Find what makes no difference in the URLs of CRAWL_DIR, by host, with what speaks for it:
    parameters of the query or the path (session ids, campaign tags), index.html, slashes at the
    end, upper and lower case.

    A rule is learnt where URLs that differ in nothing else had the same content, often enough
    and without exceptions. Contents that many pages of a host share count for nothing. Exit
    code 1 where nothing is found.
    """,
    examples=(
        "crawl dust mycrawl",
        "crawl dust mycrawl --host www.example.org --min-support 5 --doubtful",
        "crawl dust mycrawl --apply conf/dust-urlnormalizer.txt",
        "crawl run mycrawl -D urlnormalizer.order=basic,regex,dust",
    ),
    calls=('web.dust(min_support=5)["rules"]', 'web.dust(apply="dust-urlnormalizer.txt")["file"]'),
)
