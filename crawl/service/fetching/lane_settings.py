"""What is wrong with the settings of the service, before anything is opened."""

from __future__ import annotations

from crawl.config import Config
from crawl.counters import Counters
from crawl.fetcher.drivers.protocols import Protocols, resolved_protocols
from crawl.fetcher.values.politeness import Politeness
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.parsing.plan import ParsePlan
from crawl.service.intake.admission import Admission
from crawl.service.intake.freshness import Freshness


def check_settings(config: Config) -> None:
    """Raises ConfigError or PluginError for the first fault."""
    Politeness.of(config)
    Protocols(resolved_protocols(config), config).close()
    Admission.of(config, Counters())
    ScoringChain.from_config(config)
    ParsePlan.from_config(config)
    Freshness.of(config)
