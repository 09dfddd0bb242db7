"""The seams: one Protocol class and its contract a file, the registry that finds
plugins, and the chains that run them in order.

A plugin is constructed as `Plugin(config)` and must be picklable by its name alone:
executors build it anew from `module:attr` and the configuration.
"""
