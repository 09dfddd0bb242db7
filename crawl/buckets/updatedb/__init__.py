"""updatedb, bucket by bucket: `delta` reads what the segments tell, `url_updates` puts it in
order of URLs, `bucket` merges it into a bucket's old records."""
