"""generate, bucket by bucket: scan → cut → assign → collect → deal → list (→ mark).

scan     a CrawlDb bucket → candidates (row, key, group), split by the group's shard
cut      all shards together → the exact key above which a segment takes candidates
assign   a shard → which row goes to which segment, split by bucket
collect  a bucket → its selected records, and how many each host has
deal     a bucket's selected records → split by fetch-list part (balanced in between)
list     a part → its file, hosts interleaved
mark     a bucket → the same with the selected records' generate time (on request)
"""
