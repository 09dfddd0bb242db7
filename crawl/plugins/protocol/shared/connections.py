"""Properties of connections: TLS, HTTP/2, how many are kept and for how long."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

import certifi

from crawl.config import Config, boolean, duration, integer, text
from crawl.errors import ConfigError

TLS_CHECK = boolean(
    "http.tls.certificates.check", True, "Refuse servers whose certificate cannot be verified."
)
TLS_CA_FILE = text(
    "http.tls.ca.file",
    "",
    "PEM file of the authorities to trust; empty: the machine's, or certifi's where it has none.",
)
USE_HTTP2 = boolean("http.useHttp2", False, "Offer HTTP/2 to https servers.")
MAX_IDLE = integer(
    "http.connections.max.idle", 256, "Connections kept while no request uses them.", minimum=0
)
IDLE_TIME = duration(
    "http.connections.idle.time",
    60,
    "Longest time a connection is kept; a server that announces a shorter one is believed.",
    unit="s",
)


@dataclass(frozen=True, slots=True)
class CertificateAuthorities:
    """Where the certificates of trusted authorities are: one file, or a folder with hashed
    names of which only the needed ones are read."""

    file: str = ""
    folder: str = ""


def certificate_authorities(config: Config) -> CertificateAuthorities:
    """The authorities to trust; ConfigError where the configured file does not exist."""
    configured = config[TLS_CA_FILE]
    if configured:
        if not Path(configured).is_file():
            raise ConfigError(f"{TLS_CA_FILE.name}: there is no file {configured!r}")
        return CertificateAuthorities(file=configured)
    folder = ssl.get_default_verify_paths().capath
    if folder and any(Path(folder).glob("*.0")):
        return CertificateAuthorities(folder=folder)
    return CertificateAuthorities(file=certifi.where())
