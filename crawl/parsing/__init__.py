"""Pages become text, data and links: type, charset, parser, signature, outlinks. No Spark."""
