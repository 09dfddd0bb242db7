"""Whether what the embedded index is made with is installed: it is an extra of the product."""

from __future__ import annotations

from crawl.errors import EnvironmentFault
from crawl.hints import install


def require_tantivy() -> None:
    """Raises where the extra `search` is not installed."""
    try:
        import tantivy  # noqa: F401
    except ImportError as error:
        raise EnvironmentFault(f"the embedded index needs tantivy: {install('search')}") from error
