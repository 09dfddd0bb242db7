"""The embedded index: full text without a server, in folders that tantivy writes.

    from crawl.search.writer import EmbeddedIndexWriter

    with EmbeddedIndexWriter("index/part-0") as writer:
        writer.add({"url": "https://example.org/", "title": "Example", "content": "…"})

A document is `schema.py`'s fields: title, anchors, main text and the rest of the page, each one
field for all languages, whose words are cut by the page's own language; a query's word is cut as
each language cuts it. Everything that results show lies in one stored value (`record.py`). Several
folders are searched as one collection (`collection.py`), so that scores are comparable; `index.py`
searches.
"""
