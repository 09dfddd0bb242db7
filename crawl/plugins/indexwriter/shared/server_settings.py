"""Parameters of every writer that speaks to a server over HTTP."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.masking import masked_urls
from crawl.net.secret_mask import SecretMask
from crawl.plugins.indexwriter.shared.parameters import Parameters
from crawl.plugins.protocol.shared.connections import certificate_authorities
from crawl.printable import printable

SERVER_PARAMETERS = (
    *("url", "username", "password", "api_key", "verify", "ca_file", "client_cert", "client_key"),
    *("timeout_seconds", "retry_seconds", "batch_documents", "batch_bytes", "max_rejected"),
)

_CHECK_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the server is and how it is spoken to."""

    addresses: tuple[str, ...]
    """Several of one cluster: where one fails, the next is asked."""
    authorization: str = field(default="", repr=False)
    """The header's value."""
    verify: bool = True
    ca_file: str = ""
    ca_folder: str = ""
    client_cert: str = ""
    client_key: str = ""
    timeout_seconds: float = 60
    """Of one exchange."""
    retry_seconds: float = 300
    """How long a server that is busy or away is waited for, each time."""
    batch_documents: int = 500
    batch_bytes: int = 5 << 20
    max_rejected: int = 1000
    """Documents of a shard that may be refused before the job gives up."""
    mask: SecretMask = field(default_factory=SecretMask, repr=False)
    """Of all that the server says."""

    @property
    def check_seconds(self) -> float:
        """The same before the work begins: an address that is wrong is found soon."""
        return min(self.retry_seconds, _CHECK_SECONDS)


def read_settings(
    config: Config, values: Mapping[str, Any], own: tuple[str, ...], default_url: str
) -> tuple[ServerSettings, Parameters]:
    """The settings; and the parameters, for those that are a writer's own."""
    parameters = Parameters(values, (*SERVER_PARAMETERS, *own))
    authorities = certificate_authorities(config)
    ca_file = _file(parameters, "ca_file")
    settings = ServerSettings(
        tuple(map(_address, parameters.names("url", (default_url,)))),
        _authorization(parameters),
        parameters.flag("verify", default=True),
        ca_file or authorities.file,
        "" if ca_file else authorities.folder,
        _file(parameters, "client_cert"),
        _file(parameters, "client_key"),
        parameters.number("timeout_seconds", 60, least=0.1),
        parameters.number("retry_seconds", 300),
        parameters.whole("batch_documents", 500, least=1),
        parameters.whole("batch_bytes", 5 << 20, least=1),
        parameters.whole("max_rejected", 1000),
        SecretMask(_secrets(parameters)),
    )
    if not settings.addresses:
        raise ConfigError("url: expected an address")
    return settings, parameters


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_valid = None
    if not is_valid or parts.query or parts.fragment or not url.isprintable() or " " in url:
        raise ConfigError(
            f"url: expected http://HOST:PORT, got {printable(masked_urls(url), 200)!r}"
        )
    if "@" in parts.netloc:
        raise ConfigError("url: who we are stands in `username` and `password`, not in the address")
    return url.rstrip("/")


def _authorization(parameters: Parameters) -> str:
    user, password = parameters.text("username"), parameters.text("password")
    key = parameters.text("api_key")
    if key and user:
        raise ConfigError("api_key: there is a username too; one of them is enough")
    if password and not user:
        raise ConfigError("password: there is no username")
    if key:
        if not key.isascii() or not key.isprintable():
            raise ConfigError("api_key: expected printable ASCII")  # and never what it is
        return f"ApiKey {key}"
    if user:
        return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
    return ""


def _secrets(parameters: Parameters) -> tuple[str, ...]:
    """All that the server is sent and nobody else may read."""
    _, _, credentials = _authorization(parameters).partition(" ")
    return (parameters.text("password"), parameters.text("api_key"), credentials)


def _file(parameters: Parameters, name: str) -> str:
    path = parameters.text(name)
    if path and not Path(path).is_file():
        raise ConfigError(f"{name}: there is no file {printable(path, 200)!r}")
    return path
