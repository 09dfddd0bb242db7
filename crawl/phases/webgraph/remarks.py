"""What webgraph says beside its numbers: what it decided by looking at the crawl, and why the graph
is empty; and what the commands that read such a graph say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crawl.driver.empty_results import no_links_remarks
from crawl.driver.few_left import all_left_out, few_left, keeps_them
from crawl.driver.link_sites import known_sites
from crawl.hints import command
from crawl.model.report import Report
from crawl.parsing.anchors import UNFOLLOWABLE
from crawl.phases.webgraph.rules import RULE_SETTINGS
from crawl.rules.sites import Sites
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot

_ALL_LINKS = " ".join(f"-D {setting.name}=false" for setting in RULE_SETTINGS.values())


def webgraph_remarks(
    crawl_dir: CrawlDir,
    decision: Mapping[str, bool],
    sites: Sites,
    names: Sequence[str],
    report: Report,
) -> list[str]:
    """`decision`: the rules that auto has decided on; `names`: the segments."""
    counters = report.counters
    remarks: list[str] = []
    one = sites.one_host or sites.one_domain
    properties = [RULE_SETTINGS[name].name for name, value in decision.items() if not value]
    if one is not None and properties:
        remarks.append(
            f"all links have to do with {one}: they count, as auto turns these off:"
            f" {', '.join(properties)}"
        )
    if counters["links_outgrown"]:
        remarks.append(
            f"the links have to do with more than one site now: {counters['links_outgrown']:,}"
            " links within one, which have counted so far, are left out (link.ignore.*=auto; false"
            " keeps them)"
        )
    if not counters["links"]:
        return [*remarks, *no_links_remarks(crawl_dir, "webgraph", names)]
    again = keeps_them(f"{command('webgraph', crawl_dir.address, *names, '--again')} {_ALL_LINKS}")
    causes = {
        "internal_host": ("link.ignore.internal.host", again),
        "internal_domain": ("link.ignore.internal.domain", again),
        "limit_domain": ("link.ignore.limit.domain", again),
        "limit_page": ("link.ignore.limit.page", again),
        "filtered": ("the URL filters (--filter)", ""),
        UNFOLLOWABLE: ("their elements, which no reader can follow (link, script)", ""),
    }
    left_out = all_left_out(counters, "dropped.", causes)
    return remarks + few_left("links", counters["links"], counters["links_counted"], left_out)


def empty_graph_remarks(crawl_dir: CrawlDir, edges: int) -> list[str]:
    """The remark of commands that rank a graph without links."""
    if edges:
        return []
    return [
        "the link graph has no links, so all scores are alike: `crawl webgraph` says which property"
        f" has left them out; with the segments' names, `{command('webgraph', crawl_dir.address)}"
        f" SEGMENT… --again {_ALL_LINKS}` takes all of them in"
    ]


def hostgraph_remarks(
    crawl_dir: CrawlDir, group: str, webgraph: Snapshot, links_between: int
) -> list[str]:
    """The remark about a graph of hosts or domains in which none is linked to another."""
    if links_between:
        return []
    sites = known_sites(webgraph)
    one = sites.one_host if group == "host" else sites.one_domain
    if one is not None:
        return [
            f"all pages are of the {group} {one}, and a graph of {group}s is of links between"
            f" several: rank its pages with `{command('linkrank', crawl_dir.address)}`"
        ]
    if group == "host" and sites.one_domain is not None:
        return [
            f"no host links to another: those of {sites.one_domain} count with"
            f" `{command('webgraph', crawl_dir.address)} SEGMENT… --again"
            " -D link.ignore.internal.domain=false`"
        ]
    return [
        f"no {group} links to another: db.ignore.external.links or a URL filter may have left such"
        f" links out when the pages were parsed, link.ignore.* when they were taken in"
        f" (`{command('webgraph', crawl_dir.address)} SEGMENT… --again {_ALL_LINKS}`)"
    ]
