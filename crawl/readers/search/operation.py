"""search as an operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from crawl.operations.operation import Asked, Operation
from crawl.operations.options import Natural, Positive, option
from crawl.operations.view import Highlighted, Line, Note, Part, Table, View
from crawl.operations.work import Work
from crawl.printable import plural, printable

NOT_FOUND = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """The options of search."""

    query: Annotated[
        tuple[str, ...],
        option('Words, "phrases", -without, and fields such as title: host: since:', argument=True),
    ]
    limit: Annotated[Positive, option("Results to show.")] = 10
    offset: Annotated[Natural, option("Results to pass over.")] = 0
    per_host: Annotated[
        Natural | None,
        option(
            "Results of one host at most; 0: any number (the property search.results.per.host)."
        ),
    ] = None
    duplicates: Annotated[bool, option("Show pages with nearly the same text too.")] = False
    exact: Annotated[bool, option("Do not look for words with typos.")] = False
    facets: Annotated[
        Natural, option("Count the pages of the N commonest hosts and languages.")
    ] = 0
    explain: Annotated[bool, option("Show why each page ranks where it does.")] = False
    writer: Annotated[
        str | None,
        option("The index writer whose index is searched, where there are several.", metavar="ID"),
    ] = None


def run(work: Work, options: QueryOptions) -> dict[str, Any]:
    from crawl.search.installed import require_tantivy

    require_tantivy()
    from crawl.driver.derived import behind_lines
    from crawl.readers.search.search import CrawlSearch
    from crawl.search.answers import SearchOptions

    # which keeps the index open: the next query takes milliseconds
    search: CrawlSearch = work.resources.setdefault(
        "search", CrawlSearch(work.directory, work.config)
    )
    asked = SearchOptions(
        limit=options.limit,
        offset=options.offset,
        collapse=not options.duplicates,
        typos=not options.exact,
        facets=options.facets,
        explain=options.explain,
    )
    query = " ".join(options.query)
    answer = search.search(query, work.clock, asked, options.per_host, options.writer).values()
    for line in (*_hidden(answer, options), *behind_lines(work.directory, ("index", "clean"))):
        work.remark(line)
    return answer


def _hidden(answer: dict[str, Any], options: QueryOptions) -> Iterator[str]:
    """How many pages were found and are not shown, and what shows them."""
    ways = [
        *(["--per-host 0 shows any number of one host"] if options.per_host != 0 else []),
        *([] if options.duplicates else ["--duplicates shows those with nearly the same text"]),
    ]
    shown = len(answer["results"])
    hidden = answer["total"] - options.offset - shown
    if ways and hidden > 0 and shown < options.limit:
        yield f"{hidden:,} more are not shown: {', '.join(ways)}"


def render(result: dict[str, Any], asked: Asked) -> View:
    """The pages, best first, and what was made of the query."""
    parts = [part for page in result["results"] for part in _page(page)]
    if result["total"]:
        parts += [
            Table(
                f"by {name}", [name, "pages"], [[value, count] for value, count in counts.items()]
            )
            for name, counts in result["facets"].items()
        ]
    return [*parts, *map(Note, _notes(result))]


def _notes(result: dict[str, Any]) -> Iterator[str]:
    if result["uncorrected"]:
        words = ", ".join(map(printable, result["uncorrected"]))
        yield f"too many words are on no page; not looked for with typos: {words}"
    if result["corrected"]:
        yield f"with typos: {', '.join(map(printable, result['corrected']))}"
    if result["didYouMean"]:
        yield f"did you mean: {printable(result['didYouMean'])}"
    if result["relaxed"]:
        yield "no page has all of the words; these have some of them"
    yield f"{plural(result['total'], 'page')} in {result['seconds'] * 1000:,.1f} ms"


def _page(page: dict[str, Any]) -> Iterator[Part]:
    lead = f"{page['rank']:>3}. "
    if page["title"]:
        yield Highlighted(page["title"], page["titleHighlights"], lead)
    else:
        yield Highlighted(page["url"][:200], (), lead)
    yield Line(f"     {printable(page['url'], 200)}")
    if page["snippet"]:
        yield Highlighted(page["snippet"], page["highlights"], "     ")
    facts = [page["language"], page["type"], (page["modified"] or "")[:10]]
    if page["duplicates"]:
        facts.append(f"and {page['duplicates']:,} nearly the same")
    if any(facts):
        yield Line(f"     {printable(' · '.join(filter(None, facts)))}")
    if (ranking := page.get("explanation")) is None:
        return
    yield Line(
        f"     score {page['score']:.3f} = words {ranking['words']:.3f}"
        f" × links {ranking['links']:.3f} (page score {ranking['pageScore']:g})"
        f" × freshness {ranking['freshness']:.3f}"
    )
    for share in ranking["shares"]:
        times = f", {share['frequency']:g}×" if share["frequency"] else ""
        yield Line(
            f"       {printable(share['word'], 40)} in {share['field']}: {share['value']:.3f}"
            f" (weight {share['weight']:g}, idf {share['idf']:.2f}{times})"
        )


OPERATION = Operation(
    name="search",
    run=run,
    render=render,
    code=lambda answer, asked: 0 if answer["results"] else NOT_FOUND,
    help="""
    Search the pages of CRAWL_DIR that `crawl index` put into the embedded index, which is that
    of the active index writer of the plugin tantivy, whatever its id. It needs the extra `search`.

    Words must all be on the page; in quotes beside each other; with - before them nowhere.
    Fields: title: anchor: text: url: host: site: lang: type: since: until:, and field.NAME: for
    others. Exit code 1: nothing was found. In Python the index stays open: the next query takes
    milliseconds.
    """,
    examples=(
        "crawl search mycrawl 'open data \"city council\"'",
        "crawl search mycrawl 'budget -draft title:annual lang:en since:30d' --facets 5",
        "crawl search mycrawl 'site:example.org type:application/pdf' --per-host 0 --json",
        "crawl search mycrawl '東京 天気' --explain -D search.weight.link=0",
        "crawl search mycrawl budget --writer german",
    ),
    calls=("web.search('open data lang:en', limit=5)[\"total\"]",),
)
