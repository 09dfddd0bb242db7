"""The LinkDb: which pages link to a URL, and with which words.

`links.py` takes links out of parsed pages and sends them to the slices of the pages that they
lead to; `merge.py` merges them there, and `origin.py` tells those of other crawls apart;
`inlinks.py` reads them for whoever goes through URLs in their order, and `dump.py` writes them
for others.
"""
