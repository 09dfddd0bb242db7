"""The settings of a fetch, beside those of politeness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from crawl.config import Config, boolean, choice, duration, integer, number, size, string_list, text
from crawl.config.properties import FETCHER_THREADS_FETCH
from crawl.robots.answer import RobotsPolicy
from crawl.rules.follow import FollowRules
from crawl.urls.partition import PartitionMode


class TailCut(StrEnum):
    """Which fetches are ended when what is left is a tail."""

    ROUNDS = "rounds"
    """Those that a further round follows."""
    ALWAYS = "always"
    NEVER = "never"


FETCHER_QUEUE_MODE = choice(
    "fetcher.queue.mode",
    "byHost",
    tuple(mode.value for mode in PartitionMode),
    "What makes a server: its host, its domain or its IP address.",
)
FETCHER_QUEUE_DEPTH = integer(
    "fetcher.queue.depth.multiplier", 50, "URLs waiting in memory, for each thread.", minimum=1
)
FETCHER_STORE_CONTENT = boolean(
    "fetcher.store.content", True, "Keep the bytes of pages in the segment."
)
FETCHER_STORE_ROBOTS = boolean(
    "fetcher.store.robotstxt",
    False,
    "Keep the answers to requests for robots.txt too, as content that is not parsed.",
)
FETCHER_NORMALIZE_URLS = boolean(
    "fetcher.normalize.urls",
    False,
    "Normalize the URLs of the list (scope default) before they are fetched.",
)
FETCHER_FILTER_URLS = boolean(
    "fetcher.filter.urls", False, "Filter the URLs of the list before they are fetched."
)
FETCHER_PARSE = boolean(
    "fetcher.parse", False, "Parse pages while fetching; a parse phase is not needed then."
)
FETCHER_FOLLOW_DEPTH = integer(
    "fetcher.follow.outlinks.depth",
    -1,
    "With fetcher.parse: links of pages are followed at once to this depth; -1: not at all.",
    minimum=-1,
    maximum=100,
)
FETCHER_FOLLOW_LINKS = integer(
    "fetcher.follow.outlinks.num.links",
    4,
    "Links followed of one page: divisor x num.links / depth, rounded down.",
    minimum=0,
)
FETCHER_FOLLOW_DIVISOR = integer(
    "fetcher.follow.outlinks.depth.divisor",
    2,
    "See fetcher.follow.outlinks.num.links: the deeper a page, the fewer of its links.",
    minimum=1,
)
FETCHER_FOLLOW_IGNORE_EXTERNAL = boolean(
    "fetcher.follow.outlinks.ignore.external", True, "Follow links to the page's own host only."
)
FETCHER_TIMELIMIT = duration(
    "fetcher.timelimit.mins",
    -1.0,
    "The whole fetch ends after this; what is left stays due. -1: no limit.",
    unit="min",
    minimum=-1,
)
FETCHER_TAIL_WAIT = duration(
    "fetcher.tail.wait",
    60.0,
    "Where all that is left are hosts in trouble (no robots.txt to be had, failures, a Retry-After)"
    " and none may be asked for longer than this, they are left for a later round, which keeps"
    " their pauses. -1: they are waited for.",
    unit="s",
    minimum=-1,
)
FETCHER_TAIL_SILENCE = duration(
    "fetcher.tail.silence",
    1.0,
    "Where all that is left are such hosts and others that were asked for their robots.txt and"
    " have not said a word, these are given up after this, or after fetcher.server.delay or four"
    " times the slowest robots.txt of the fetch if that is longer; they are put off as after a"
    " timeout, and waited for until http.timeout when they are tried again. Not where no server"
    " has answered. -1: they are waited for.",
    unit="s",
    minimum=-1,
)
FETCHER_TAIL_CUT = choice(
    "fetcher.tail.cut",
    TailCut.ROUNDS.value,
    tuple(cut.value for cut in TailCut),
    "End a fetch when what is left is a tail: fewer servers are busy than in the mean of the round,"
    " its parse, updatedb and generate included, and what is left, what was found and the time"
    " spent are each worth a round. The rest stays due. rounds: where a further round follows.",
)
FETCHER_THROUGHPUT_THRESHOLD = integer(
    "fetcher.throughput.threshold.pages",
    -1,
    "A fetch slower than this is ended; what is left stays due. -1: never.",
    unit="pages/s",
    minimum=-1,
)
FETCHER_THROUGHPUT_RETRIES = duration(
    "fetcher.throughput.threshold.retries",
    5.0,
    "How long a fetch may stay below the threshold.",
    unit="s",
)
FETCHER_THROUGHPUT_CHECK_AFTER = duration(
    "fetcher.throughput.threshold.check.after", 5.0, "When to begin to look.", unit="min"
)
FETCHER_BANDWIDTH_TARGET = number(
    "fetcher.bandwidth.target",
    -1.0,
    "Width of the line that a task keeps to, by sending threads to rest; -1: any.",
    unit="kbit/s",
    minimum=-1,
)
FETCHER_BANDWIDTH_CHECK = duration(
    "fetcher.bandwidth.target.check.everyNSecs", 30.0, "How often to look.", unit="s", minimum=1
)
FETCHER_MAX_THREADS = integer(
    "fetcher.maxNum.threads", 25, "Most threads with a bandwidth target.", minimum=1
)
FETCHER_HANG = duration(
    "fetcher.threads.timeout",
    600.0,
    "A task in which no request ended for this long is ended without its threads.",
    unit="s",
    minimum=1,
)
HTTP_ROBOTS_ALLOWLIST = string_list(
    "http.robot.rules.allowlist",
    (),
    "Hosts, and all hosts below them, whose robots.txt is not asked for: your own, surely.",
)
FETCHER_CHECKPOINT_RECORDS = integer(
    "fetcher.checkpoint.records",
    10_000,
    "What is fetched is committed, as one file, after so many records.",
    minimum=1,
)
FETCHER_CHECKPOINT_BYTES = size(
    "fetcher.checkpoint.bytes", 128 << 20, "Or after so much content.", minimum=1
)
FETCHER_CHECKPOINT_SECONDS = duration(
    "fetcher.checkpoint.seconds", 300.0, "Or after so long.", unit="s"
)
FETCHER_JOURNAL_SECONDS = duration(
    "fetcher.journal.seconds",
    0.0,
    "How long an answer may wait to be noted in a journal. After a crash no page is asked for"
    " again but those under way and those of this time; of a fetch of 2,000 pages or 64 MiB"
    " a second, those of about a second. 0: at once on a local disk (within 50 ms where hundreds"
    " come in a second), each second where every note is a file of its own (object stores, HDFS)."
    " -1: no journal.",
    unit="s",
    minimum=-1,
)
FETCHER_PROGRESS_INTERVAL = duration(
    "fetcher.progress.interval",
    2.0,
    "How often a task tells how far it is, and hears whether it is to end.",
    unit="s",
)
HTTP_REDIRECT_MAX = integer(
    "http.redirect.max",
    0,
    "Redirects followed at once, in the target host's own queue; 0: left for a later round.",
    minimum=0,
    maximum=50,
)
HTTP_REDIRECT_EXCEEDED_SKIP = boolean(
    "http.redirect.max.exceeded.skip",
    False,
    "Drop the target of a redirect too many, instead of leaving it for a later round.",
)
HTTP_AGENT_NAME = text(
    "http.agent.name", "", "Name of the crawler, told to every server; must be set."
)
HTTP_ROBOTS_AGENTS = string_list(
    "http.robots.agents", (), "Further names that robots.txt rules are looked up under."
)
HTTP_ROBOTS_403_ALLOW = boolean(
    "http.robots.403.allow", True, "A robots.txt that is forbidden (403) allows everything."
)
HTTP_ROBOTS_DEFER = boolean(
    "http.robots.503.defer.visits",
    True,
    "A host whose robots.txt fails (5xx, 429, no answer) is not visited for now.",
)
HTTP_ROBOTS_DEFER_DELAY = duration(
    "http.robots.503.defer.visits.delay", 300_000.0, "Pause before it is asked again.", unit="ms"
)
HTTP_ROBOTS_DEFER_RETRIES = integer(
    "http.robots.503.defer.visits.retries",
    3,
    "After so many vain tries the host's URLs are left for a later round.",
    minimum=0,
)
HTTP_ROBOTS_REDIRECT_MAX = integer(
    "http.robots.redirect.max", 5, "Redirects of a robots.txt that are followed.", minimum=0
)
HTTP_ROBOTS_EXPIRE = duration(
    "http.robots.expire",
    24.0,
    "How long the rules of a host are believed.",
    unit="h",
    minimum=0,
    maximum=24,
)
HTTP_ROBOTS_KEEP = duration(
    "http.robots.keep",
    24.0,
    "How long answers for robots.txt are kept in the crawl, so that later rounds and parts need not"
    " ask again; never for longer than http.robots.expire, and failures only for"
    " http.robots.503.defer.visits.delay. 0: every fetch asks anew.",
    unit="h",
    minimum=0,
    maximum=24,
)


_OWN_NAME = RobotsPolicy(("nutria",))


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """The settings as the engine uses them."""

    threads: int = 10
    depth: int = 50
    store_content: bool = True
    """Whether records are to bear what came back: to be stored or to be parsed."""
    store_robots: bool = False
    """Whether answers to requests for robots.txt are brought out too."""
    redirect_max: int = 0
    redirect_exceeded_skip: bool = False
    robots: RobotsPolicy = _OWN_NAME
    robots_exempt: frozenset[str] = frozenset()
    """Hosts, and those below, that are fetched without asking for their rules."""
    robots_defer_s: float = 300.0
    robots_defer_retries: int = 3
    robots_redirect_max: int = 5
    robots_expire_s: float = 86_400.0
    robots_keep_s: float = 86_400.0
    """How long answers are kept for other engines; 0 where they are not."""
    robots_cache_size: int = 500_000
    """Hosts whose rules are remembered, beside those whose pages wait: some 150 MB where all
    have short rules. One that is forgotten while its pages are still to come costs its server
    another request, so there are as many as URLs that are remembered."""
    leave_alone_s: float = math.inf
    """How long a server is left alone whose rules cannot be had, or that failed too often: to the
    end of a fetch, for the next round comes. An engine that is fed for months needs an end."""
    max_seen_urls: int = 500_000
    """URLs that are recognised when they are met again (crawl/fetcher/frontier/seen_urls.py): some
    50 MB."""
    max_past_hosts: int = 100_000
    """Hosts whose past failures an engine that is fed remembers, beside those that must still be
    left alone."""
    tail_wait_s: float = math.inf
    """How long servers in trouble are waited for where no others are left to be asked."""
    tail_silence_s: float = math.inf
    """The same for servers that have not answered at all (crawl/fetcher/engine/tail.py)."""

    @classmethod
    def of(cls, config: Config) -> FetchSettings:
        further: tuple[str, ...] = config[HTTP_ROBOTS_AGENTS]
        return cls(
            threads=config[FETCHER_THREADS_FETCH],
            depth=config[FETCHER_QUEUE_DEPTH],
            store_content=config[FETCHER_STORE_CONTENT] or config[FETCHER_PARSE],
            store_robots=config[FETCHER_STORE_ROBOTS],
            redirect_max=config[HTTP_REDIRECT_MAX],
            redirect_exceeded_skip=config[HTTP_REDIRECT_EXCEEDED_SKIP],
            robots=RobotsPolicy(
                (config[HTTP_AGENT_NAME], *further),
                allow_on_403=config[HTTP_ROBOTS_403_ALLOW],
                defer_on_5xx=config[HTTP_ROBOTS_DEFER],
            ),
            robots_exempt=frozenset(host.lower() for host in config[HTTP_ROBOTS_ALLOWLIST]),
            robots_defer_s=config[HTTP_ROBOTS_DEFER_DELAY] / 1000,
            robots_defer_retries=config[HTTP_ROBOTS_DEFER_RETRIES],
            robots_redirect_max=config[HTTP_ROBOTS_REDIRECT_MAX],
            robots_expire_s=config[HTTP_ROBOTS_EXPIRE] * 3600,
            robots_keep_s=config[HTTP_ROBOTS_KEEP] * 3600,
            tail_wait_s=_bound(config[FETCHER_TAIL_WAIT]),
            tail_silence_s=_bound(config[FETCHER_TAIL_SILENCE]),
        )


def is_at_or_below(host: str, names: frozenset[str]) -> bool:
    """Whether the host, or a domain above it, is among the names."""
    while host and host not in names:
        host = host.partition(".")[2]
    return bool(host)


def _bound(seconds: float) -> float:
    """Negative: none."""
    return seconds if seconds >= 0 else math.inf


def following_of(config: Config) -> FollowRules:
    """The rules for links that are followed within the fetch."""
    return FollowRules(
        depth=config[FETCHER_FOLLOW_DEPTH],
        links=config[FETCHER_FOLLOW_LINKS],
        divisor=config[FETCHER_FOLLOW_DIVISOR],
        same_host=config[FETCHER_FOLLOW_IGNORE_EXTERNAL],
    )
