"""URLs as the WHATWG standard reads them: parts, resolution, hosts, domains and the keys
that URLs are grouped by. Pure and total: no plugin, no network, no text that raises."""
