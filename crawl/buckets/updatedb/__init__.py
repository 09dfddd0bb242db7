"""updatedb, slice by slice: `delta` reads what the segments tell, `url_updates` puts it in
order of URLs, `bucket` merges it into a slice's old records."""
