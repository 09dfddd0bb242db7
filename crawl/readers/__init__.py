"""What a crawl knows, as plain values ready for JSON: for the command line, the API, a service
or a page alike. Nothing here prints.
"""
