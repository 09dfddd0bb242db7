"""gc: old snapshots are forgotten, and the files that none names are deleted."""
