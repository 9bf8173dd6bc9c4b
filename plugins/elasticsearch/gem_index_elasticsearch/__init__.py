"""Elasticsearch and OpenSearch as targets of ``gem-index push``: ``elasticsearch+http://host:9200/?index=faq``."""

from gem_index_elasticsearch.bulk_files import BulkFilesTarget
from gem_index_elasticsearch.target import IndexTarget

__all__ = ["BulkFilesTarget", "IndexTarget"]
