"""The package `mcp`, which is loaded only where an agent asks."""

from __future__ import annotations

from crawl.errors import EnvironmentFault
from crawl.hints import install

_EXTRA = "mcp"


def require_mcp() -> None:
    """EnvironmentFault where the extra is not installed, or too old."""
    try:
        import mcp.server.lowlevel  # noqa: F401
        import mcp_types  # noqa: F401
        from mcp.server import streamable_http_manager  # noqa: F401
    except ImportError as error:
        missing = error.name or "mcp"
        raise EnvironmentFault(f"tools for agents need {missing}: {install(_EXTRA)}") from error
