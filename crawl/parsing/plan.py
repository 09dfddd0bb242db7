"""ParsePlan: which plugins parse, and how; resolved on the driver, built where it is used."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.config import Config
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.parsefilter import ParseFilter
from crawl.interfaces.parser import Parser
from crawl.interfaces.registry import ResolvedPlugin, resolve
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.interfaces.signature import Signature
from crawl.interfaces.urlexemption import URLExemption
from crawl.interfaces.urlnormalizer import Scope
from crawl.parsing import settings
from crawl.parsing.outlinks import OutlinkRules
from crawl.parsing.text.charset import default_codec
from crawl.urls.rule_lines import rule_lines

_SUFFIXES = {"xml": "application/xml", "json": "application/json"}
TypeMap = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class ParsePlan:
    """The plugins and rules that parse pages, and their configuration; they travel to tasks as
    names."""

    config: Config
    parsers: tuple[ResolvedPlugin, ...]
    mapping: TypeMap
    """Types whose parsers are named by the mapping file."""
    parse_filters: tuple[ResolvedPlugin, ...]
    signature: ResolvedPlugin
    exemptions: tuple[ResolvedPlugin, ...]
    scoring: ScoringChain
    outlinks: OutlinkRules
    redirects: NormalizerChain
    """For the target of a meta refresh, which is treated like any redirect's."""
    filters: FilterChain

    @classmethod
    def from_config(
        cls, config: Config, *, filter_urls: bool = True, normalize_urls: bool = True
    ) -> ParsePlan:
        """The configured plan. Every plugin is built once, so that errors are raised on the
        driver and rule files travel with the configuration."""
        names: tuple[str, ...] = config[settings.PLUGIN_PARSER]
        parsers = resolve("parser", names)
        filters = FilterChain.from_config(config)
        normalizers = NormalizerChain.from_config(config, Scope.OUTLINK)
        plan = cls(
            config=config,
            parsers=parsers,
            mapping=_parsers_by_type(config, names),
            parse_filters=resolve("parsefilter", config[settings.PARSEFILTER_ORDER]),
            signature=resolve("signature", [config[settings.DB_SIGNATURE_CLASS]])[0],
            exemptions=resolve("urlexemption", config[settings.URLEXEMPTION_ORDER]),
            scoring=ScoringChain.from_config(config),
            outlinks=OutlinkRules.of(
                config,
                normalizers if normalize_urls and config[settings.PARSE_NORMALIZE_URLS] else None,
                filters if filter_urls and config[settings.PARSE_FILTER_URLS] else None,
            ),
            redirects=NormalizerChain.from_config(config, Scope.FETCHER),
            filters=filters,
        )
        plan.build()
        default_codec(config[settings.PARSER_DEFAULT_CHARSET])
        return plan

    def build(self) -> ParsePlugins:
        """The plugins, configured; raises ConfigError or PluginError."""
        return ParsePlugins(
            {plugin.name: plugin.build(self.config) for plugin in self.parsers},
            [(plugin.name, plugin.build(self.config)) for plugin in self.parse_filters],
            self.signature.build(self.config),
            [(plugin.name, plugin.build(self.config)) for plugin in self.exemptions],
        )


@dataclass(frozen=True, slots=True)
class ParsePlugins:
    """The plugins of a plan, built in this process."""

    parsers: dict[str, Parser]
    """By name, in their order."""
    parse_filters: list[tuple[str, ParseFilter]]
    signature: Signature
    exemptions: list[tuple[str, URLExemption]]

    def parsers_for(self, mime_type: str, mapping: TypeMap) -> list[tuple[str, Parser]]:
        """The parsers of a page of that type, in the order in which they are tried."""
        for kind, names in mapping:
            if kind in (mime_type, "*", "*/*"):
                return [(name, self.parsers[name]) for name in names]
        family = mime_type.partition("/")[0] + "/*"
        # RFC 6839: whoever does not know xyz can read application/xyz+xml as XML
        plain = _SUFFIXES.get(mime_type.rpartition("+")[2], mime_type)
        return [
            (name, parser)
            for kind in dict.fromkeys((mime_type, plain, family, "*/*"))
            for name, parser in self.parsers.items()
            if kind in parser.mime_types
        ]


def _parsers_by_type(config: Config, parsers: tuple[str, ...]) -> TypeMap:
    by_type: dict[str, tuple[str, ...]] = {}
    for line in rule_lines(config, settings.PARSER_MAPPING_FILE):
        kind, *names = line.text.split()
        if not names:
            raise line.wrong(f"which parsers read {kind}?")
        for name in names:
            if name not in parsers:
                raise line.wrong(f"{name!r} is not among the parsers of plugin.parser")
        by_type[kind.lower()] = tuple(names)
    # what is said of every type counts only where nothing is said of the type itself
    return tuple(sorted(by_type.items(), key=lambda entry: entry[0].startswith("*")))
