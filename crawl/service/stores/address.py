"""The address of a store: `lmdb:PATH`, `memory:`, `redis://USER:PASSWORD@HOST:PORT/DATABASE?…`."""

from __future__ import annotations

import re
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from crawl.did_you_mean import did_you_mean
from crawl.errors import UsageError
from crawl.masking import MARK, masked_urls
from crawl.printable import printable

_PARTS = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*):"
    r"(?://(?:(?P<user>[^@/?#]*)@)?(?P<hosts>[^@/?#]*))?"
    r"(?P<path>[^?#]*)(?:\?(?P<options>[^#]*))?",
    re.IGNORECASE,
)
_LONGEST = 4096
_TRUE = frozenset(("1", "true", "yes", "on"))
_FALSE = frozenset(("0", "false", "no", "off"))


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """What an address says. Printed, it has no password."""

    scheme: str
    path: str
    hosts: tuple[tuple[str, int | None], ...] = ()
    user: str = ""
    password: str = field(default="", repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        if not self.hosts:
            return f"{self.scheme}:{printable(self.path)}"
        hosts = ",".join(
            (f"[{host}]" if ":" in host else host) + ("" if port is None else f":{port}")
            for host, port in self.hosts
        )
        user = f"{MARK}@" if self.user or self.password else ""
        return printable(f"{self.scheme}://{user}{hosts}/{self.path}")

    def check_options(self, known: Collection[str]) -> None:
        """UsageError where one is given that the store does not have."""
        for name in self.options:
            if name not in known:
                there = ", ".join(sorted(known)) or "none"
                raise UsageError(
                    f"{self}: no option {printable(name, 60)!r}{did_you_mean(name, known)};"
                    f" there are: {there}"
                )

    def number(self, name: str, default: float, least: float, most: float) -> float:
        """An option that is a number."""
        given = self.options.get(name)
        if given is None:
            return default
        try:
            value = float(given)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise UsageError(
                f"{self}: {name} is {printable(given, 60)!r};"
                f" numbers from {least:g} to {most:g} are possible"
            )
        return value

    def file(self, name: str) -> str:
        """An option that is a file of certificates, which must be there; empty where it is not
        given."""
        given = self.options.get(name, "")
        if given:
            try:
                ssl.create_default_context(cafile=given)
            except (OSError, ValueError) as error:
                why = "it has no certificates" if isinstance(error, ssl.SSLError) else error
                raise UsageError(f"{self}: {name} {printable(given, 100)!r}: {why}") from None
        return given

    def flag(self, name: str, default: bool) -> bool:
        """An option that is yes or no."""
        given = self.options.get(name)
        if given is None:
            return default
        if given.lower() not in _TRUE | _FALSE:
            raise UsageError(f"{self}: {name} is {printable(given, 60)!r}; give yes or no")
        return given.lower() in _TRUE


def parse_address(url: str) -> StoreAddress:
    """The parts of an address; UsageError where it is none."""
    found = _PARTS.fullmatch(url) if len(url) <= _LONGEST else None
    if found is None or not url.isprintable():
        raise UsageError(
            f"{printable(masked_urls(url), 200)!r} is no address of a store, such as lmdb:PATH or"
            " redis://HOST:PORT/0"
        )
    scheme, path = found["scheme"].lower(), found["path"] or ""
    try:
        pairs = parse_qsl(
            found["options"] or "", keep_blank_values=True, strict_parsing=bool(found["options"])
        )
    except ValueError:
        raise UsageError(f"{scheme}:…: options are given as ?name=value&name=value") from None
    user, _, password = (found["user"] or "").partition(":")
    hosts = found["hosts"]
    return StoreAddress(
        scheme,
        path if hosts is None else unquote(path.removeprefix("/")),
        () if hosts is None else tuple(_host(each, scheme) for each in hosts.split(",")),
        unquote(user),
        unquote(password),
        dict(pairs),
    )


def _host(text: str, scheme: str) -> tuple[str, int | None]:
    found = re.fullmatch(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::([0-9]{1,5}))?", text, re.I)
    if found is None or (found[3] and not 0 < int(found[3]) < 65_536):
        raise UsageError(f"{scheme}://…: {printable(text, 100)!r} is no HOST or HOST:PORT")
    return found[1] or found[2], int(found[3]) if found[3] else None
