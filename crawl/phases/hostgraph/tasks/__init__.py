"""The graph of hosts, or of registered domains, out of that of pages.

`names`     the hosts of all files of pages meet in ranges of names, and get numbers
`links`     links of pages become links of hosts, each pair once, and are counted
`centrality`   harmonic centrality, a distance a step
`positions` the place of each host by a value
`hosts`     the rows of the published table
`common_crawl`  the graph in Common Crawl's form
"""
