"""The HostDb: its greatest hosts, and dumps of it."""
