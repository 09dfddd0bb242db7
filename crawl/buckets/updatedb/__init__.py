"""updatedb, bucket by bucket: `delta` reads what the segments tell, `told` puts it in
order of URLs, `bucket` merges it into a bucket's old records."""
