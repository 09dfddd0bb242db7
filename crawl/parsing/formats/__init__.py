"""Documents that are not HTML: XML, feeds, sitemaps and PDF files."""
