"""libcurl behind the plugins http and ftp: handles, their pool, many transfers in one thread."""
