"""Every command that writes, one after the other over a small synthetic web: what each of them
found is kept, so that a kill test can begin anywhere.

Commands are those of the command line, in this process; `generate` and `sitemap`, which ask Spark
how many cores there are, are called as phases.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from crawl.cli.main import main
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.declared import load_declared
from crawl.errors import CrawlError
from crawl.operations.work import Work
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.sitemap import run as sitemap
from crawl.phases.sitemap.options import SitemapOptions
from crawl.spark.engine import SparkEngine
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import PageKind, Settings, Web, WebServer, running
from crawl.tables.runner import InProcess, Runner
from tests.phases.linked_crawl import make_linked_crawl
from tests.phases.webs import AGENT

WEB = Settings.plain(
    3,
    30,
    odd=0.7,
    kinds=(PageKind.DUPLICATE, PageKind.NEAR, PageKind.MOVED, PageKind.TOUR),
    fanout=3,
    links=4.0,
    external=0.3,
    size=600,
    sessions=("sid", "", ""),
)
CRAWL, OTHER, CONF, SEEDS = "crawl", "other", "conf", "seeds.txt"
_CRAWL = "{root}/crawl"
_WRITERS = "-D index.writers=jsonl,csv,tantivy"


@dataclass(frozen=True, slots=True)
class Stage:
    """A command of the chain; the words are parted by spaces."""

    name: str
    line: str
    """What `crawl` is told, with {root} for the folder of crawl, conf and outputs."""
    again: tuple[int, ...] = (0, 1)
    """Exit codes of the same command after a kill: 1 where the dead one was done already."""
    first: int = 0
    """The exit code where nothing is killed."""
    mender: str = "gc"
    """The next command that writes where this one did, as a crawl goes: what the dead one left in
    disorder there is mended by it at the latest."""

    @property
    def command(self) -> str:
        return self.line.partition(" ")[0]


STAGES = (
    Stage("inject", f"inject {_CRAWL} {{root}}/{SEEDS}", (0,)),
    Stage("generate", f"generate {_CRAWL}", mender="fetch"),
    Stage("fetch", f"fetch {_CRAWL}", mender="parse"),
    Stage("parse", f"parse {_CRAWL}", mender="updatedb"),
    Stage("updatedb", f"updatedb {_CRAWL}"),
    Stage("invertlinks", f"invertlinks {_CRAWL}"),
    Stage("index", f"index {_CRAWL} {_WRITERS}"),
    Stage("export", f"export {_CRAWL} {{root}}/export --overwrite", (0,)),
    Stage("webgraph", f"webgraph {_CRAWL}"),
    Stage("linkrank", f"linkrank {_CRAWL} --iterations 2"),
    Stage("hostgraph", f"hostgraph {_CRAWL}"),
    Stage("updatehostdb", f"updatehostdb {_CRAWL}"),
    Stage("sitemap", f"sitemap {_CRAWL}"),
    Stage(
        "generate marked",
        f"generate {_CRAWL} -D generate.update.crawldb=true",
        mender="fetch",
    ),
    Stage("fetch parsing", f"fetch {_CRAWL} -D fetcher.parse=true", mender="updatedb"),
    Stage("updatedb again", f"updatedb {_CRAWL}"),
    Stage("invertlinks again", f"invertlinks {_CRAWL}"),
    Stage("index again", f"index {_CRAWL} --delete-gone {_WRITERS}"),
    Stage("dedup", f"dedup {_CRAWL}"),
    Stage(
        "dedup near",
        f"dedup {_CRAWL} --near jaccard=0.3 --canonical --redirects --compare-order urlLength",
    ),
    Stage("clean", f"clean {_CRAWL} {_WRITERS}"),
    Stage("export again", f"export {_CRAWL} {{root}}/export --overwrite", (0,)),
    Stage("webgraph again", f"webgraph {_CRAWL}"),
    Stage("linkrank again", f"linkrank {_CRAWL} --pagerank"),
    Stage("hostgraph again", f"hostgraph {_CRAWL}"),
    Stage("hostgraph domains", f"hostgraph {_CRAWL} --group domain"),
    Stage("scoreupdater", f"scoreupdater {_CRAWL}"),
    Stage("updatehostdb again", f"updatehostdb {_CRAWL}"),
    Stage("mergelinkdb", f"mergelinkdb {_CRAWL} {{root}}/{OTHER} --rebucket"),
    Stage(
        "dust", f"dust {_CRAWL} --min-support 2 --min-values 2 --apply {{root}}/dust.txt", (1,), 1
    ),
    Stage(
        "mirrors",
        f"mirrors {_CRAWL} --min-contents 2 --hosts-file {{root}}/hosts.txt"
        " --protocols-file {root}/protocols.txt",
        (1,),
        1,
    ),
    Stage("readdb", f"readdb {_CRAWL} --dump {{root}}/records --format json --overwrite", (0,)),
    Stage(
        "readlinkdb", f"readlinkdb {_CRAWL} --dump {{root}}/links --format json --overwrite", (0,)
    ),
    Stage(
        "readhostdb", f"readhostdb {_CRAWL} --dump {{root}}/hosts --format json --overwrite", (0,)
    ),
    Stage(
        "nodedumper",
        f"nodedumper {_CRAWL} --group host --format cc --output {{root}}/cc --overwrite",
        (0,),
    ),
    Stage("parse again", f"parse {_CRAWL} {{segment}} --reparse --no-filter", (0,)),
    Stage("index rebuilt", f"index {_CRAWL} --rebuild {_WRITERS}", (0,)),
    Stage("refresh", f"refresh {_CRAWL} *", (0,)),
    Stage("rebucket", f"rebucket {_CRAWL} --buckets 4", (0,)),
    Stage("rollback", f"rollback {_CRAWL} --to {{before}}", (0,)),
    Stage("gc", f"gc {_CRAWL} --keep 1", (0,)),
)
"""In the order of a crawl; each begins with what those before it left."""


@dataclass
class EveryPhase:
    """The folders that the stages begin with and end with."""

    folder: Path
    server: WebServer
    places: dict[str, str] = field(default_factory=dict)
    """What stands for the names in the stages' lines, beside the folder."""

    def before(self, stage: Stage) -> Path:
        return self.folder / f"{STAGES.index(stage):02d}"

    def after(self, stage: Stage) -> Path:
        return self.folder / f"{STAGES.index(stage) + 1:02d}"

    def begin(self, stage: Stage, root: Path) -> Path:
        """A copy of what the stage begins with, in a folder of its own."""
        if root.exists():
            shutil.rmtree(root)
        shutil.copytree(self.before(stage), root, symlinks=True)
        return root

    def words(self, stage: Stage, root: Path) -> list[str]:
        return self.filled(stage.line, root)

    def filled(self, line: str, root: Path) -> list[str]:
        """The words of a command line over that folder."""
        words = line.format(root=root, **self.places).split()
        return [*words, "--conf", str(root / CONF)]


@contextmanager
def every_phase(
    folder: Path, told: Callable[[Stage], object] = lambda stage: None
) -> Iterator[EveryPhase]:
    """Runs all stages, and serves the web until the end of the block."""
    with running(Web(WEB)) as server:
        made = EveryPhase(folder, server)
        first = folder / "00"
        first.mkdir(parents=True)
        _write_conf(first / CONF, server.web)
        (first / SEEDS).write_text("\n".join(server.web.seeds()))
        make_linked_crawl(str(first / OTHER))
        for stage in STAGES:
            root = made.after(stage)
            shutil.copytree(made.before(stage), root, symlinks=True)
            directory = CrawlDir(str(root / CRAWL))
            for segment in directory.segments.generated():
                made.places.setdefault("segment", segment.name)
            if stage.command == "rollback":
                made.places["before"] = str(directory.crawldb.timeline().numbers[-2])
            told(stage)
            code, text = run_words(made.words(stage, root))
            assert code == stage.first, (stage.name, code, text)
        yield made


def _write_conf(folder: Path, web: Web) -> None:
    folder.mkdir()
    (folder / "resolved.txt").write_text(
        "".join(f"{web.address(host)} {host}\n" for host in web.hosts())
    )
    (folder / "crawl-site.toml").write_text(
        f'"http.agent.name" = "{AGENT}"\n'
        '"http.filter.ipaddress.allow.private" = true\n'
        '"http.resolver.hosts.file" = "resolved.txt"\n'
        '"urlfilter.order" = ["length"]\n'
        '"fetcher.server.delay" = 0\n'
        '"fetcher.server.min.delay" = 0\n'
        '"fetcher.checkpoint.records" = 4\n'
        '"fetcher.progress.interval" = 0.1\n'
        '"crawldb.buckets" = 2\n'
        '"crawldb.snapshots.keep" = 3\n'
        '"index.shards" = 2\n'
        '"index.writers" = "jsonl,csv,tantivy"\n'
        '"link.ignore.internal.host" = false\n'
        '"link.ignore.internal.domain" = false\n'
        '"linkdb.ignore.internal.links" = false\n'
        '"generate.update.crawldb" = false\n'
    )


def run_stage(words: list[str], expected: int) -> None:
    """Runs a command as the job of a process of its own; another exit code is a failure."""
    code, text = run_words(words)
    if code != expected:
        sys.exit(f"{code}: {text}")


def run_words(words: list[str]) -> tuple[int, str]:
    """Runs a command in this process: its exit code, and what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = _run_phase(words) if words[0] in _PHASES else _run_command_line(words)
    return code, printed.getvalue()


def _run_command_line(words: list[str]) -> int:
    runner = SparkEngine.runner
    SparkEngine.runner = _in_process  # type: ignore[method-assign]
    try:
        main(words)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    finally:
        SparkEngine.runner = runner  # type: ignore[method-assign]
    return 0


@contextmanager
def _in_process(
    self: SparkEngine, work: Work, *, rows: int | None = None, quiet: bool = False
) -> Iterator[Runner]:
    yield InProcess()


def _run_phase(words: list[str]) -> int:
    name, address = words[:2]
    settings = [words[at + 1] for at, word in enumerate(words) if word == "-D"]
    conf = words[words.index("--conf") + 1]
    config = load_declared(settings, conf, {})
    try:
        return _PHASES[name](CrawlDir(address), config)
    except CrawlError as error:
        print(f"crawl: {error}")
        return error.exit_code


def _generate(directory: CrawlDir, config: Config) -> int:
    done = generate.run(
        InProcess(),
        directory,
        config,
        GenerateOptions(num_fetchers=2),
        SystemClock(),
        resolver=lambda host: None,
    )
    return 0 if done.segments else 1


def _sitemap(directory: CrawlDir, config: Config) -> int:
    sitemap.run(
        InProcess(),
        directory,
        config,
        SitemapOptions(num_fetchers=2),
        SystemClock(),
    )
    return 0


_PHASES: dict[str, Callable[[CrawlDir, Config], int]] = {
    "generate": _generate,
    "sitemap": _sitemap,
}
