"""The default rule files; installed, this is the package crawl.conf."""
