"""indexwriter elasticsearch: documents go to an Elasticsearch cluster, by its bulk API."""

from __future__ import annotations

from crawl.plugins.indexwriter.shared.bulk_api import BulkIndexWriter


class ElasticsearchIndexWriter(BulkIndexWriter):
    """Elasticsearch 7 and later, whose bulk API is that of OpenSearch."""
