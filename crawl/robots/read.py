"""From the bytes of a robots.txt to the rules that are meant for this crawler.

Read line by line as octets, because no other order of things survives what is out there:
byte order marks, lone carriage returns, NULs, wrong charsets, misspelt fields. The groups
are chosen here and not by the library, which takes `foo` for a name of `foobot`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from crawl.robots.octets import pattern_octets
from crawl.robots.rules import NOTHING_ALLOWED, Basis, RobotRules
from crawl.robots.waits import crawl_delay_seconds
from crawl.urls.parse import canonical, resolve

MAX_BYTES = 500 * 1024
"""What must be read of a robots.txt (RFC 9309, 2.5); what comes after is not."""

MAX_WILDCARD_OCTETS = 64 * 1024
"""Of all rule lines with a `*` together: each of them is searched in each URL, and this much
may take 0.2 s in a URL of 4,000 octets. A host that has more means crawlers no good, and is not
asked for anything rather than a rule being left out."""

MAX_SITEMAPS = 1000

# A field may be misspelt as search engines forgive it, and a single word may follow
# without a colon. The beginning is what byte order marks leave, also between two files
# that were put together.
_DIRECTIVE = re.compile(
    rb"""[\s\0\xef\xbb\xbf]*
    (?P<field> user[-\ ]?agent | allow | dis{1,2}al{1,2}ow | diasllow | disallaw
      | site-?map | crawl[-\ ]?delay ) [\w-]*
    (?: [\ \t]* : (?P<value>.*) | [\ \t]+ (?P<word>\S+) \s* ) \Z""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_BLANKS = b" \t\v\f\0"

_EVERYONE = re.compile(rb"\*(?:\s|\Z)")
_PRODUCT = re.compile(rb"[A-Za-z0-9_-]*")
_HAS_BLANKS = re.compile(r"\s")
_INDEX_PAGE = re.compile(rb"/index\.html?\Z")


def product_token(name: str) -> str:
    """The part of an agent's name that robots.txt files are asked for: without version,
    comment and letter case."""
    return _token(name.encode("utf-8", "replace").strip())


def read_rules(
    body: bytes, agents: Iterable[str], *, whole: bool = True, url: str = ""
) -> RobotRules:
    """The rules for a crawler of these names, their groups merged; those for everyone
    where none of them is named. A body that is not `whole` ends within a line. `url` is where
    the file lies, from which the sitemaps count that it names without a host."""
    ours = frozenset(filter(None, map(product_token, agents)))
    groups = _Groups(ours)
    sitemaps: dict[str, None] = {}
    for kind, value in _directives(body, whole):
        match kind:
            case b"u":
                groups.name(value)
            case b"a":
                groups.rule("Allow", value)
                if _INDEX_PAGE.search(value):  # and so what that page is served for
                    groups.rule("Allow", _INDEX_PAGE.sub(b"/$", value))
            case b"d":
                groups.rule("Disallow", value)
            case b"c":
                groups.delay(value)
            case _ if len(sitemaps) < MAX_SITEMAPS:
                sitemaps |= dict.fromkeys(_absolute(value, url))
    group = groups.ours if groups.ours.is_named else groups.everyone
    rules = RobotRules(Basis.FILE, "\n".join(group.rules), group.delay_s, tuple(sitemaps))
    if sum(len(rule) for rule in group.rules if "*" in rule) > MAX_WILDCARD_OCTETS:
        return replace(rules, basis=Basis.TOO_COMPLEX, rules=NOTHING_ALLOWED)
    return rules


@dataclass(slots=True, eq=False)
class _Group:
    is_named: bool = False
    rules: dict[str, None] = field(default_factory=dict)
    """In the order of the file, each once."""
    delay_s: float | None = None


class _Groups:
    """Follows a file through its groups: a rule is for the agents that are named before it.

    A Crawl-delay is for those named just above it. It is no rule (RFC 9309, 2.2.4), so that a
    name after it joins those before it for the rules to come, but not for their delay.
    """

    def __init__(self, agents: frozenset[str]) -> None:
        self.ours = _Group()
        self.everyone = _Group()
        self._agents = agents
        self._current: list[_Group] = []
        self._has_rules = False
        self._delayed: list[_Group] = []
        """The groups that a Crawl-delay is for."""
        self._has_delay = False

    def name(self, value: bytes) -> None:
        if self._has_rules:
            self._current = []
        if self._has_rules or self._has_delay:
            self._delayed = []
        self._has_rules = self._has_delay = False
        if _EVERYONE.match(value):
            named = self.everyone
        elif _token(value) in self._agents:
            named = self.ours
        else:
            return
        named.is_named = True
        if named not in self._current:
            self._current.append(named)
        if named not in self._delayed:
            self._delayed.append(named)

    def rule(self, kind: str, value: bytes) -> None:
        self._has_rules = True
        if self._current and value.startswith((b"/", b"*")):  # others can match no path
            line = f"{kind}: {pattern_octets(value)}"
            for group in self._current:
                group.rules[line] = None

    def delay(self, value: bytes) -> None:
        self._has_delay = True
        seconds = crawl_delay_seconds(value.decode("ascii", "replace"))
        if seconds is not None:
            for group in self._delayed:
                group.delay_s = max(seconds, group.delay_s or 0.0)


def _directives(body: bytes, whole: bool) -> Iterator[tuple[bytes, bytes]]:
    for line in _lines(body, whole):
        match = _DIRECTIVE.match(line.partition(b"#")[0])
        if match:
            value = match["value"] if match["word"] is None else match["word"]
            # The first letter tells the fields apart, however the rest is spelt.
            yield match["field"][:1].lower(), value.strip(_BLANKS)


def _lines(body: bytes, whole: bool) -> Sequence[bytes]:
    text = body[:MAX_BYTES]
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = text.decode("utf-16", "replace").encode("utf-8", "replace")
    lines = text.splitlines()
    is_cut = len(body) > MAX_BYTES or not whole
    return lines[:-1] if is_cut and not text.endswith((b"\n", b"\r")) else lines


def _token(name: bytes) -> str:
    match = _PRODUCT.match(name)
    return match[0].decode("ascii").lower() if match else ""


def _absolute(value: bytes, base: str) -> Iterator[str]:
    target = value.decode("utf-8", "replace")
    url = canonical(target)
    if url is None and base and target and not _HAS_BLANKS.search(target):
        url = resolve(base, target)  # the standard wants them whole, and many sites do not
    if url is not None and url.startswith(("http://", "https://")):
        yield url
