"""What protocol plugins have in common: request headers, response heads and bodies, limits,
connection settings, proxies, credentials."""
