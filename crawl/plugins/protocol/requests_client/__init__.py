"""requests and urllib3 behind the plugin http-requests: the adapter, its sockets and responses."""
