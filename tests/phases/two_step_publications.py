"""Every publication that takes more than one change, as a table: the changes in their order, what
a kill between them leaves, and what then happens. The failure model's page shows it, and
`test_two_step_publications.py` kills commands at each row and looks for changes that are in none.
"""

from __future__ import annotations

from tests.phases.publication_steps import Publication

_CHUNKS = "crawl/segments/#/crawl_fetch/chunks/part-#"
_BEFORE, _AFTER = "the state before", "the new state"

PUBLICATIONS = (
    Publication(
        "lock → work",
        (("create *LOCK", "*"),),
        ("inject", "fetch", "index", "export", "dust"),
        "the lock of a dead process",
        "takes the lock over and does its work",
        _BEFORE,
    ),
    Publication(
        "work → release of the lock",
        (("*", "delete *LOCK"),),
        ("updatedb again", "parse", "index again", "export again", "gc"),
        "all is published; the lock of a dead process",
        "says that nothing is left to do, or does the same again; whoever needs the lock takes it",
        _AFTER,
    ),
    Publication(
        "first pointer: copy → `CURRENT`",
        (("write crawl/*/CURRENT.copy", "write crawl/*/CURRENT"),),
        ("inject", "invertlinks"),
        "a copy that names no snapshot",
        "begins anew",
        "nothing there yet",
    ),
    Publication(
        "first pointer → first snapshot",
        (("write crawl/*/CURRENT", "write crawl/*/snapshots/#/manifest.json.copy"),),
        ("inject", "webgraph"),
        "a pointer that names no snapshot, and files that none names",
        "sweeps the files and begins anew",
        "nothing there yet",
    ),
    Publication(
        "copy of a manifest → manifest",
        (("write *manifest.json.copy", "write *manifest.json"),),
        ("updatedb again", "generate", "fetch", "index again"),
        "a copy without its manifest: of a snapshot that no pointer names, or of a segment's part,"
        " which is published with it",
        "sweeps the snapshot and does the work again; of a segment the next phase mends it",
        "the state before; of a segment the new one, read from the copy",
    ),
    Publication(
        "snapshot → pointer",
        (("write crawl/*/snapshots/#/manifest.json", "write crawl/*/CURRENT"),),
        ("updatedb again", "invertlinks again", "linkrank again", "index again", "dedup near"),
        "a whole snapshot that no pointer names",
        "sweeps it and does the work again",
        _BEFORE,
    ),
    Publication(
        "pointer → its copy",
        (("write crawl/*/CURRENT", "write crawl/*/CURRENT.copy"),),
        (
            *("updatedb again", "dedup", "generate marked", "sitemap", "invertlinks again"),
            *("linkrank", "index again", "rebucket", "rollback", "gc"),
        ),
        "a copy that is one state behind, and the lock of a dead process",
        "says that it is done already; the next writer or `check --repair` mends the copy",
        f"{_AFTER}; `check` tells of the copy",
    ),
    Publication(
        "pointer → sweep of what it no longer names",
        (
            ("write crawl/*/CURRENT.copy", "delete crawl/*/snapshots/*"),
            ("delete crawl/*/snapshots/*", "delete crawl/*/snapshots/*"),
        ),
        ("updatedb again", "gc"),
        "files of forgotten snapshots",
        "the next writer or `gc` deletes them",
        _AFTER,
    ),
    Publication(
        "CrawlDb with marks → fetch lists",
        (("* crawl/crawldb/*", "write crawl/segments/#/crawl_generate/manifest.json.copy"),),
        ("generate marked",),
        "URLs that are marked as generated, and lists without their done-mark",
        "publishes the lists that the snapshot has committed, then does its own work",
        f"{_AFTER}; the segment is there with the next writer of the CrawlDb",
    ),
    Publication(
        "claim of a part → its first chunk",
        ((f"write {_CHUNKS}/OWNER.json", f"create {_CHUNKS}/#.json"),),
        ("fetch",),
        "a claim of a dead task, and answers in the journal",
        "claims the part anew and takes up what the journal has",
        _BEFORE,
    ),
    Publication(
        "mark of a chunk → its copy `LAST.json`",
        ((f"create {_CHUNKS}/#.json", f"write {_CHUNKS}/LAST.json"),),
        ("fetch", "fetch parsing"),
        "a chunk that is committed, and an older copy of the mark before it",
        "goes on behind the chunk",
        _BEFORE,
    ),
    Publication(
        "chunk → next chunk, or the end of the part",
        (
            (f"write {_CHUNKS}/LAST.json", f"create {_CHUNKS}/#.json"),
            (f"write {_CHUNKS}/LAST.json", f"write {_CHUNKS}/DONE.json"),
            (f"write {_CHUNKS}/DONE.json", f"write {_CHUNKS}/OWNER.json"),
        ),
        ("fetch", "fetch parsing"),
        "some chunks, each of them whole",
        "goes on behind the last chunk",
        _BEFORE,
    ),
    Publication(
        "parts that are done → hand-over to later fetches",
        (
            (f"write {_CHUNKS}/DONE.json", "create crawl/*/LOCK"),
            (f"write {_CHUNKS}/DONE.json", "delete crawl/segments/#/crawl_fetch/*"),
        ),
        ("fetch",),
        "all chunks, and no manifest of the fetch",
        "asks for no page again, and publishes",
        _BEFORE,
    ),
    Publication(
        "`robots` → `servers`",
        (("* crawl/robots/*", "* crawl/servers/*"),),
        (),
        "answers for robots.txt that are known, and pauses that are not",
        "merges both again, of the same files",
        _BEFORE,
        "fetch/test_hand_over.py::test_a_hand_over_killed_at_every_write",
    ),
    Publication(
        "hand-over → manifests of the fetch",
        (
            ("delete crawl/*/LOCK", "delete crawl/segments/#/crawl_fetch/*"),
            ("delete crawl/segments/#/crawl_fetch/*", "delete crawl/segments/#/crawl_fetch/*"),
            ("delete crawl/segments/#/crawl_fetch/*", "write crawl/segments/#/*"),
        ),
        ("fetch", "fetch parsing"),
        "what was learnt is handed over, and its files in the segment may be gone",
        "asks for no page again, hands over what is left, and publishes",
        _BEFORE,
    ),
    Publication(
        "`PARSED` → manifests of a parsing fetch",
        (("write crawl/segments/#/PARSED*", "write crawl/segments/#/content/manifest.json.copy"),),
        ("fetch parsing",),
        "a parse of pages that do not count as fetched yet",
        "`fetch` publishes the rest; `updatedb`, `index` and the others pass the segment over",
        _BEFORE,
    ),
    Publication(
        "manifest of the content → manifest of the fetch",
        (
            (
                "write crawl/segments/#/content/manifest.json*",
                "write crawl/segments/#/crawl_fetch/manifest.json*",
            ),
        ),
        ("fetch",),
        "content of a segment that does not count as fetched yet",
        "`fetch` publishes the rest",
        _BEFORE,
    ),
    Publication(
        "`PARSED` and its copy",
        (
            ("write crawl/segments/#/PARSED.copy", "write crawl/segments/#/PARSED"),
            ("write crawl/segments/#/PARSED", "write crawl/segments/#/PARSED.copy"),
        ),
        ("parse", "parse again"),
        "one of the two",
        "parses again; a parse that was published is there, and its copy is mended by whoever"
        " writes there next, or by `check --repair`",
        "the parse before, or the new one: never parts of both",
    ),
    Publication(
        "new parse → sweep of the former",
        (
            ("write crawl/segments/#/PARSED.copy", "delete crawl/segments/#/*"),
            ("delete crawl/segments/#/parse*", "delete crawl/segments/#/parse*"),
            ("delete crawl/segments/#/crawl_parse/*", "delete crawl/segments/#/parse*"),
        ),
        ("parse again",),
        "table files that no manifest names",
        "the next parse sweeps them",
        _AFTER,
    ),
    Publication(
        "CrawlDb with listed URLs → `sitemaps`",
        (("* crawl/crawldb/*", "write crawl/sitemaps/*"),),
        ("sitemap",),
        "the URLs, and not what became of each host's sitemaps",
        "asks again and tells of them then",
        "the new CrawlDb; `readhostdb` knows of no sitemaps yet",
    ),
    Publication(
        "index: ledger → `FOLDERS` of each writer",
        (("* crawl/index/*", "write crawl/index/*/FOLDERS*"),),
        ("index", "index again", "clean", "index rebuilt"),
        "a ledger that has the segment, and writers whose lists of files are older",
        "`index`, `clean` and `check --repair` bring the lists up to date before all else",
        "`search` goes by the ledger; whoever reads a writer's files by `FOLDERS` alone has the"
        " ones before",
    ),
    Publication(
        "index: `FOLDERS` and its copy",
        (
            ("write crawl/index/*/FOLDERS.copy", "write crawl/index/*/FOLDERS"),
            ("write crawl/index/*/FOLDERS", "write crawl/index/*/FOLDERS.copy"),
        ),
        ("index", "index again"),
        "one of the two",
        "`index`, `clean` and `check --repair` mend it",
        "the list that can be read, of the index before or the new one",
    ),
    Publication(
        "index: `FOLDERS` → deletion of what was replaced",
        (
            ("write crawl/index/*/FOLDERS.copy", "delete crawl/index/*/part-*"),
            ("delete crawl/index/*/part-*", "delete crawl/index/*/part-*"),
        ),
        ("index again", "clean"),
        "files that no list names",
        "`index`, `clean` and `check --repair` delete them",
        _AFTER,
    ),
    Publication(
        "index: documents sent to a server → ledger",
        (("file crawl/index/*/sent-*", "write crawl/index/CURRENT"),),
        (),
        "documents at the server that no ledger knows, and a note of what was sent",
        "sends again or deletes what the note names",
        "the server answers with what it has been sent",
        "index/test_index_server.py::test_a_kill_at_any_decisive_write",
    ),
    Publication(
        "index: documents sent to a topic → ledger",
        (("file crawl/index/*/sent-*", "write crawl/index/CURRENT"),),
        (),
        "records in the topic that no ledger knows, and a note of what was sent",
        "sends a later record or a deletion for each of them",
        "whoever reads the topic has what was sent",
        "index/test_index_kill.py::test_a_topic_is_the_index_after_a_death",
    ),
    Publication(
        "export: end of the former → files → manifest → `_SUCCESS`",
        (
            ("delete export/*", "* export/*"),
            ("write export/_EXPORT", "write export/manifest.json"),
            ("write export/manifest.json", "write export/_SUCCESS"),
        ),
        ("export", "export again"),
        "a folder that says of itself that it is an export's, without `_SUCCESS`",
        "replaces it, without `--overwrite`",
        "an export that is not whole, as `_SUCCESS` is missing",
    ),
    Publication(
        "dump: files → `_SUCCESS`",
        (("delete cc/parts", "write cc/_SUCCESS"),),
        ("nodedumper",),
        "whole files without `_SUCCESS`",
        "says that the folder is not empty; with `--overwrite` it replaces them",
        "a dump that is not whole, as `_SUCCESS` is missing",
    ),
    Publication(
        "mirrors: rules for hosts → rules for protocols",
        (("delete hosts.txt.LOCK", "create protocols.txt.LOCK"),),
        ("mirrors",),
        "the first file new, the second as it was",
        "writes both again",
        "each file whole",
    ),
    Publication(
        "new state → note of the run, for `status --behind`",
        (("*", "write crawl/last_runs/*"),),
        ("dedup", "clean"),
        "all is published, and a note that is one run behind or none; the lock of a dead process",
        "does the same again, and notes it",
        f"{_AFTER}; `status` may say that it is behind",
    ),
    Publication(
        "gc: one dataset → the next",
        (("delete crawl/*/LOCK", "create crawl/*/LOCK"),),
        ("gc",),
        "some datasets collected, others not yet",
        "collects the others",
        _AFTER,
    ),
    Publication(
        "locks of a fetch: one → the other",
        (
            ("delete crawl/fetching/LOCK", "*"),
            ("delete crawl/*/LOCK", "delete crawl/fetching/LOCK"),
        ),
        ("fetch", "sitemap"),
        "all is published; the lock of a dead process",
        "takes it over",
        _AFTER,
    ),
    Publication(
        "rounds: one phase → the next",
        (),
        (),
        "a round of which some phases are done",
        "`crawl run` goes on with the phase that is due",
        "what the phases so far have published",
        "test_random_kills.py::test_nothing_is_lost_or_doubled_by_kills_without_a_jvm",
    ),
    Publication(
        "overlapped rounds: one round's end beside the next one's fetch",
        (),
        (),
        "a round that is not closed and another that is not fetched",
        "`crawl run` closes the one and goes on with the other",
        "what the phases so far have published",
        "../rounds/test_overlap_kill.py::test_overlapping_rounds_killed_again_and_again",
    ),
)
"""All rows, in the order of the page."""


def rows_for(first: str, second: str) -> list[Publication]:
    """The rows in which one change follows the other."""
    return [row for row in PUBLICATIONS if row.has(first, second)]


def documented_table() -> str:
    """The table as Markdown, for the failure model's page."""
    lines = [
        "| steps, in order | a kill between them leaves | the next command | readers see meanwhile"
        " | test |",
        "|---|---|---|---|---|",
    ]
    for row in PUBLICATIONS:
        test = row.test.rpartition("::")[2]
        stages = f" ({', '.join(row.stages)})" if row.stages else ""
        lines.append(
            f"| {row.name} | {row.leaves} | {row.next_command} | {row.readers} | `{test}`{stages} |"
        )
    return "\n".join(lines) + "\n"
