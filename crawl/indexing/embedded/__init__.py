"""The embedded index: full text without a server, in folders that tantivy writes.

    from crawl.indexing.embedded.writer import EmbeddedIndexWriter

    with EmbeddedIndexWriter("index/part-0") as writer:
        writer.add({"url": "https://example.org/", "title": "Example", "content": "…"})

A document is `schema.py`'s fields: title, anchors and text in one field a language, each with
that language's stemmer, so that a word is cut in a query as it was cut in the page. Everything
that results show lies in one stored value (`record.py`). `index.py` searches several folders
together.
"""
