"""The Model Context Protocol: what agents may ask of a crawl, as tools.

    arguments.py   what each tool is given, with its bounds: their JSON Schemas come from here
    tools.py       every tool as a value: when to use it, what comes back, what it does to the world
    calling.py     a tool's call as requests of the HTTP interface, and their answers as its result
    untrusted.py   what came from the web, bounded, cleaned and marked as such
    package.py     whether the package `mcp` is there
    protocol.py    the tools over the package `mcp`
    in_process.py  requests to the service in this process, through the gate as any other
    mounted.py     the protocol under /mcp of the HTTP interface
    stdio.py       the protocol over stdin and stdout
    bridge.py      the protocol over HTTP on loopback for a service that is elsewhere
    reaching.py    where the service of a crawl is: in this process, or in another
    operation.py   `crawl mcp`

A tool asks nothing but the HTTP interface, so keys, quotas, limits and reasons are those of it.
"""
