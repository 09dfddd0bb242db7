"""parse: a segment's content becomes parse_data, parse_text and crawl_parse."""
