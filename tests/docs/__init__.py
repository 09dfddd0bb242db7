"""The documentation: that it builds, and that everything in it that can be run is run."""
