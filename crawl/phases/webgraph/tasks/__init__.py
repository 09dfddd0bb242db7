"""The link graph of a crawl, bucket by bucket.

outlinks.py  what pages of segments link to, merged into what is known of them
nodes.py     both ends of all links meet in the bucket of their URL, get their places, and learn
             each other's numbers
edges.py     links as pairs of numbers, in the bucket of what they lead to
graph.py     what is stored of all that, to be read
ranking.py   one iteration of a rank over some buckets
marks.py     nodes that a list names, and edges turned round
"""
