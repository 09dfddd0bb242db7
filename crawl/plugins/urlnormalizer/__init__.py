"""One spelling for URLs that mean the same page."""
