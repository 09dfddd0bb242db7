"""indexwriter opensearch: documents go to an OpenSearch cluster, by its bulk API."""

from __future__ import annotations

from crawl.plugins.indexwriter.shared.bulk_api import BulkIndexWriter


class OpenSearchIndexWriter(BulkIndexWriter):
    """OpenSearch 1 and later."""
