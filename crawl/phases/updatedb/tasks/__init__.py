"""updatedb, slice by slice: `delta` sends what the segments tell, `links` makes one row of many
links to a URL, `url_updates` puts it in order of URLs, `bucket` merges it into a slice's old
records."""
