"""How the service is begun and reached: its commands, roles and the HTTP server."""
