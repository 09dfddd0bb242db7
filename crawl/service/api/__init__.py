"""The service's HTTP interface, version 1."""
