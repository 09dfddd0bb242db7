"""crawl search."""

from __future__ import annotations

import click

from crawl.cli.common.options import crawl_dir_argument, json_option, with_config
from crawl.cli.common.output import echo, echo_highlighted, print_json, print_table, remark
from crawl.cli.common.url_lines import decoded_argument
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.printable import printable
from crawl.readers.search.search import CrawlSearch
from crawl.rounds.derived import behind_lines
from crawl.search.answers import SearchAnswer, SearchHit, SearchOptions
from crawl.search.snippets import Snippet
from crawl.storage.crawl_dir import CrawlDir

NOT_FOUND = 1


@click.command("search")
@crawl_dir_argument
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    default=10,
    show_default=True,
    help="Results to show.",
)
@click.option(
    "--offset", type=click.IntRange(min=0), metavar="N", default=0, help="Results to pass over."
)
@click.option(
    "--per-host",
    type=click.IntRange(min=0),
    metavar="N",
    help="Results of one host at most; 0: any number (the property search.results.per.host).",
)
@click.option("--duplicates", is_flag=True, help="Show pages with nearly the same text too.")
@click.option("--exact", is_flag=True, help="Do not look for words with typos.")
@click.option(
    "--facets",
    type=click.IntRange(min=1),
    metavar="N",
    help="Count the pages of the N commonest hosts and languages.",
)
@click.option(
    "--writer",
    metavar="ID",
    help="The index writer whose index is searched, where there are several.",
)
@click.option("--explain", is_flag=True, help="Show why each page ranks where it does.")
@json_option
@with_config
def command(
    crawl_dir: str,
    query: tuple[str, ...],
    limit: int,
    offset: int,
    per_host: int | None,
    duplicates: bool,
    exact: bool,
    facets: int | None,
    writer: str | None,
    explain: bool,
    as_json: bool,
    config: Config,
) -> int:
    """Search the pages of CRAWL_DIR that `crawl index` put into the embedded index, which is that
    of the active index writer of the plugin tantivy, whatever its id.

    Words must all be on the page; in quotes beside each other; with - before them nowhere.
    Fields: title: anchor: text: url: host: site: lang: type: since: until:, and field.NAME: for
    others. Exit code 1: nothing was found.

    \b
    Examples:
      crawl search mycrawl 'open data "city council"'
      crawl search mycrawl 'budget -draft title:annual lang:en since:30d' --facets 5
      crawl search mycrawl 'site:example.org type:application/pdf' --per-host 0 --json
      crawl search mycrawl '東京 天気' --explain -D search.weight.link=0
      crawl search mycrawl budget --writer german
    """
    answer = CrawlSearch(CrawlDir(crawl_dir), config).search(
        decoded_argument(" ".join(query)),
        SystemClock(),
        SearchOptions(
            limit=limit,
            offset=offset,
            collapse=not duplicates,
            typos=not exact,
            facets=facets or 0,
            explain=explain,
        ),
        per_host,
        writer,
    )
    if as_json:
        print_json(answer.values())
    else:
        _show(answer)
    ways = [
        *(["--per-host 0 shows any number of one host"] if per_host != 0 else []),
        *([] if duplicates else ["--duplicates shows those with nearly the same text"]),
    ]
    hidden = answer.total - offset - len(answer.hits)
    if ways and hidden > 0 and len(answer.hits) < limit:
        remark(f"search: {hidden:,} more are not shown: {', '.join(ways)}")
    for line in behind_lines(CrawlDir(crawl_dir), ("index", "clean")):
        remark(f"search: {line}")
    return 0 if answer.hits else NOT_FOUND


def _show(answer: SearchAnswer) -> None:
    for hit in answer.hits:
        title = hit.title if hit.title.text else Snippet(hit.record.url[:200])
        echo_highlighted(title.text, title.highlights, lead=f"{hit.place:>3}. ")
        _show_details(hit)
    for name, counts in answer.facets.items() if answer.total else ():
        print_table(
            f"by {name}",
            [name, "pages"],
            [[value, count] for value, count in counts.items()],
            first=False,
        )
    if answer.uncorrected:
        words = ", ".join(map(printable, answer.uncorrected))
        remark(f"search: too many words are on no page; not looked for with typos: {words}")
    if answer.corrected:
        remark(f"search: with typos: {', '.join(map(printable, answer.corrected))}")
    if answer.did_you_mean:
        remark(f"search: did you mean: {printable(answer.did_you_mean)}")
    if answer.is_relaxed:
        remark("search: no page has all of the words; these have some of them")
    pages = "page" if answer.total == 1 else "pages"
    remark(f"search: {answer.total:,} {pages} in {answer.seconds * 1000:,.1f} ms")


def _show_details(hit: SearchHit) -> None:
    record = hit.record
    echo(f"     {printable(record.url, 200)}")
    if hit.snippet.text:
        echo_highlighted(hit.snippet.text, hit.snippet.highlights, lead="     ")
    known = [record.language, record.type, (hit.values()["modified"] or "")[:10]]
    if hit.duplicates:
        known.append(f"and {hit.duplicates:,} nearly the same")
    if any(known):
        echo(f"     {printable(' · '.join(filter(None, known)))}")
    ranking = hit.ranking
    if ranking is not None:
        echo(
            f"     score {hit.score:.3f} = words {ranking.words:.3f} × links {ranking.links:.3f}"
            f" (page score {ranking.page_score:g}) × freshness {ranking.freshness:.3f}"
        )
        for share in ranking.shares:
            times = f", {share.frequency:g}×" if share.frequency else ""
            echo(
                f"       {printable(share.word, 40)} in {share.field}: {share.value:.3f}"
                f" (weight {share.weight:g}, idf {share.idf:.2f}{times})"
            )
